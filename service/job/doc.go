// Package job is the vocabulary of the job/attempt protocol: what a job and an attempt are, the one
// table of the attempt's lifecycle, and the one function that derives a job's state from its attempts.
//
// It promises that every legal change of an attempt's state stands in [Table] and nowhere else, and it
// does no I/O. Stores apply the table under their guards, failover decides the next step, dispatch acts.
package job
