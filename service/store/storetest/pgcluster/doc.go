// Package pgcluster gives tests a real PostgreSQL.
//
// A test asks for [Database] and gets the URL of a fresh, empty one, which is dropped when the test
// ends. A suite that also needs the same migrations in each of them asks for a [Template] once.
//
// Where the databases live: on the server that FALLPROOF_TEST_DATABASE_URL names, if it is set; else
// on a private throwaway cluster, which the test process starts on first use from whatever PostgreSQL
// is installed, from version 14 on. PostgreSQL refuses to run as root, so under root the server runs as postgres or nobody.
//
// The cluster's files lie in memory where the system offers that and has plenty free, else in the folder for
// temporary files; TMPDIR overrides both.
//
// What is promised:
//
//   - The server is never a fake, and a test is never skipped: where PostgreSQL is missing the test
//     fails, with one line that says what to install.
//   - A private cluster listens on a Unix socket inside a folder that only its user (and root) can enter, and on
//     no port: nobody else on the machine can reach it, and no two clusters collide.
//   - Nothing outlives the test process, however it ends: a watchdog, which notices the end of the
//     process by the end of a pipe, stops the server and removes its folder even after a SIGKILL.
//   - What was committed survives [Cluster.StopImmediate]: the server saves itself the fsync, which
//     guards against the loss of a machine, and nothing that guards against the loss of a process.
//
// Tests that take the server down need one of their own, from [Start]; everybody else shares. The command in
// the folder with starts one cluster for a whole run of go test. What a database holds is left to the caller.
package pgcluster
