// Package deployment puts what stands in deploy/ to the test as it is shipped: real nginx before three replicas
// of the built binary on one PostgreSQL database.
//
// It promises that a double click through the load balancer meets one replica and makes one job with one call;
// that a replica which is killed takes neither jobs nor answers with it; and that a POST which may have been
// carried out is never handed on. What was called is read from the simulator's ledger, who was asked from
// nginx's own log. Only addresses and the place of the log are changed in the shipped files.
//
// nginx has to be installed: where it is missing the suite fails with one line that says what to do. What a
// replica answers by itself is for suites/breakpoints.
package deployment
