// Package benchmarks times what users wait for, over HTTP on loopback and on both stores.
//
// It reports and never judges: the machines that it runs on are shared. What must hold is for the other
// suites to say. Run it with make bench.
package benchmarks
