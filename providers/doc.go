// Package providers says what a provider is and what its answers mean.
//
// It promises three things. A [Target] is named and parsed in one place. A [Profile] is everything
// about a target that shapes the bytes on the wire, and its digest changes whenever those bytes could.
// [Classify] is the one table from what was seen on the wire to what it means for an attempt; it is
// pure, looks at raw status, headers and bytes, and nothing overrides it.
//
// How bytes are sent belongs to the wire formats below this package (openai), what an answer is worth
// to a contract belongs to contracts, and what follows from a verdict belongs to service/failover.
package providers
