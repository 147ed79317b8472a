// Package failover decides who is next, and why not the others. It is pure: one consistent view of a
// job goes in, a step comes out, and the caller runs it inside the transaction that ends an attempt.
//
// It promises:
//   - no target but the intended one without a proof that stands in the view, whatever the attempt's role;
//   - no step while an attempt blocks, after the job is final, or beyond the plan's cap, which counts
//     attempts of every role and every time that one is sent again;
//   - no step before any deadline that is known of its target: what its provider asked for, the back-off
//     and the cooling of its circuit, of which the latest holds; nor at or past the job's own deadline;
//   - nothing is sent where prompt and answer do not fit the window, nor after a request could not be built;
//   - a target that failed for good in a job, or that an external process gave up, is not tried again
//     by itself in that job; so every job ends;
//   - silence is no failure: no other attempt follows one in doubt. What may be done about the doubt
//     itself, and when, follows from what is stored, the same however often it is asked ([Doubt]).
//
// The database checks proof, block and cap once more. How an attempt is sent belongs to
// service/dispatch.
package failover
