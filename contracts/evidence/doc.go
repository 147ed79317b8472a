// Package evidence says what is kept of a certification run beside its record: every request as it was sent,
// every answer as it was received, and what was found in it.
//
// It promises a document whose bytes the record's digest names ([Writer], [Open]), from which what looks like
// a credential is taken out. Making a document belongs to
// suites/certify, keeping it to service/store, showing it to contracts/report.
package evidence
