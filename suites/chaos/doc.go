// Package chaos lets everything go wrong at once, and then holds what the providers saw against what the
// store says, call for call.
//
// Three replicas, each a process of the built binary, share one real PostgreSQL. While jobs flow, a tenth
// of them clicked twice, a script drawn from a seed kills and freezes replicas, cuts and slows their
// connections to the database and to the providers, swallows the answers to COMMITs, crashes the database,
// revokes and renews proofs, and lets operators end doubt in every way they may. Every answer of the
// simulated providers is in a mood of its own. Then everything comes back, the rest of the doubt is ended,
// and the whole history is judged.
//
// A seed replays the script: the same jobs, clicks, moods and faults in the same order. It does not replay
// the machine's scheduler, so that a failure may take several runs of its seed to come back.
//
// A short run is part of go test; the long one is make chaos, which ends by itself and prints its figures.
// What each promise means is left to the comment of the check that judges it; what one replica does
// undisturbed is left to the other suites.
//
// Each provider, rather than each replica's way to it, has its proxy: a proof is worth something for one
// base URL alone, and equal replicas have equal ones.
package chaos
