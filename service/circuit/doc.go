// Package circuit keeps a replica from asking targets that do not answer, for the sake of the next jobs:
// a circuit breaker for each target (github.com/sony/gobreaker), beside the pause that its provider
// itself asked for.
//
// It promises:
//   - so many failures in a row as the settings say open the circuit of their target, however fast they
//     come: a target that fails within a millisecond is left alone instead of attracting every job;
//   - after the cool-down one send goes through to see, and no second one before it was reported on;
//   - of two pauses that a provider asked for, the later end holds, whichever was asked for last;
//   - a result that is reported late, twice or never keeps no circuit open and no circuit closed.
//
// # What counts as what
//
// A circuit is about whether its target answers, for whatever job comes next; what an answer is worth is
// judged by the proof of its contract.
//
//	outcome              result   because
//	succeeded            success  it answers
//	truncated            success  it answers; the contract asked for too few tokens
//	refused              success  it answers; the content was the matter
//	contract_violation   success  it answers; whether it may go on under that contract is for the proof to say
//	not_sent             failure  it cannot be reached
//	timeout              failure  silence past the soft deadline
//	connection_lost      failure  it breaks off
//	gateway_timeout      failure  what stands behind the gateway does not answer
//	server_error         failure  it says that it is broken
//	rate_limited         failure  the next job would be turned away as well
//	malformed            failure  a 200 without an answer in it: the next one would be no better
//	redirect             failure  it is not where the configuration says, for any job
//	unauthorized         failure  the key is not accepted, whatever is asked
//	rejected             neither  about this request; it may be the target's fault as well as the contract's
//	unmappable           neither  about our request, which never became one
//
// A reason that the table does not know is a failure where the exchange is in doubt, and neither where
// it failed for sure.
//
// What it knows is this replica's alone, and is forgotten with the process. Who is asked instead, and
// what waits, is decided by service/failover; how long a provider may make us wait is capped by the caller.
package circuit
