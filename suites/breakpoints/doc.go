// Package breakpoints is the contract of the HTTP API, as specs: whatever happens between click and
// answer, one intent stays one job, and exactly one attempt wins.
//
// It looks at a deployment from outside alone: HTTP to the service, and the control paths of the provider
// simulator behind it. [Specs] builds the scenarios that any such deployment can be put through, and
// [Verify] runs them from within the binary; the suite under go test adds what needs the command line,
// a restart or a configuration of its own, on SQLite and on PostgreSQL.
//
// After every scenario the simulator's ledger is compared with the attempts that the API shows: each
// request that reached a provider is one send of an attempt, none is missing and none is extra.
//
// Nothing waits by the clock: scenarios hold requests at the simulator, wait for the ledger or for a
// state, and let go. A deployment that is verified should do nothing else meanwhile: personalities of
// its models are changed (and restored), and every request in the ledger has to be explained.
package breakpoints
