// Package api speaks HTTP: it turns requests into calls of the dispatcher and the store, and what they
// answer into JSON.
//
// It promises that every answer that is no success is a problem document (RFC 9457) whose type is stable
// and explained at /problems/NAME; that one table decides which error becomes which problem; that a
// request that was refused stored nothing; that inputs and results leave byte for byte as exact as they
// came; and that /openapi.json lists exactly the routes that exist, because both are made of one table.
//
// What a request means belongs to service/dispatch, what may happen to service/job, and what is decided
// under concurrency to the database.
package api
