// Package contracts holds what a target must honour: prompt messages, an answer schema, business
// checks, cases and thresholds, in a folder of their own.
//
// It promises that a folder is read strictly (an unknown key is an error that names file and line) and
// wholly: [Contract.Digest] covers every byte of every file, also of files that no key names, and
// [Contract.Archive] carries the folder to where a job runs, so that the job ends under the contract
// that it was created with. [Contract.ProofDigest] covers what certification proves for one target.
//
// Whether a contract is any good is contracts/lint's to say; rendering, judging answers and checks are
// contracts/prompt, contracts/structure and contracts/business.
package contracts
