// Package failover decides who is next, and why not the others. It is pure: one consistent view of a
// job goes in, a step comes out, and the caller runs it inside the transaction that ends an attempt.
//
// It promises:
//   - no target but the intended one without a proof that stands in the view, whatever the attempt's role;
//   - no step while an attempt blocks, after the job is final, or beyond the plan's cap, which counts
//     attempts of every role;
//   - a target that failed for good in a job, or that an external process gave up, is not tried again
//     by itself in that job; so every job ends;
//   - silence is no failure: nothing here follows an attempt in doubt.
//
// The database checks proof, block and cap once more. How an attempt is sent belongs to
// service/dispatch.
package failover
