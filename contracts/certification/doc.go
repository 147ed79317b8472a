// Package certification says what a certification record is and when it is proof.
//
// It promises one pure answer to "may this target stand in for another": [Standing.Reasons], empty when
// the proof stands, typed reasons otherwise. Running a suite belongs to suites/certify, keeping records
// to service/store, choosing among eligible targets to service/failover.
package certification
