// Package readme runs what the README and the Makefile tell people to type, as they would type it.
//
// It promises that every shell block of the README either runs here, in order and in one shell, or is one
// of the two commands of the first screen: make demo, which runs here too, and make test, which is what
// runs this. Links are followed to files that exist.
package readme
