// Package store is what the service and the certification suite ask of a database.
//
// It promises that every guard of the design is decided by the database, inside the statement or by a
// constraint: one job per (owner, key), one blocking attempt per job, one winner, no attempt away from
// its intended target without a standing proof, append-only records and events, proofs that say no more
// than their records. All times that decide anything are the database's. A method either did all it says
// in one transaction or changed nothing.
//
// An error that is none of this package's own may mean that a COMMIT's answer was lost. Every method
// may therefore be repeated with the same arguments: CreateJob finds its own job, Apply learns that its
// attempt had won already.
//
// The statements stand in sqlcore, once; postgres and sqlite hold what differs; storetest is the one
// suite that both pass.
package store
