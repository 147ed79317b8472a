// Package certify runs contracts against targets and writes certification records.
//
// It works in two steps that do not mix. [Collect] calls the target, N samples a case, through the same
// code path that the service uses, and keeps every exchange in the store, so that an interrupted run
// resumes and pays only for what is missing, and two runners under one run name share the work.
// [Judge] turns that evidence into a record; it is pure, and calls nobody. [Run] does both and puts
// Ginkgo between them: one spec per contract × target × dimension, whose report decides whether the run
// was complete. Only a complete run writes records: a skipped, filtered, focused, empty, repeated or
// dry run certifies nothing.
//
// Provider trouble (429, 5xx, silence, a lost connection) is retried within a budget and then makes a
// pair inconclusive: never a pass, never a rejection.
//
// What a figure means belongs to contracts/certification, keeping records to service/store, choosing
// among certified targets to service/failover.
package certify
