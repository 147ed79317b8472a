// Package dispatch runs attempts: it takes jobs in, calls providers, and brings what it heard to the
// store, where compare-and-swap decides what it means.
//
// It promises:
//   - An accepted job goes on without its client, and ends under the contract that it was created with.
//   - One attempt is one call of its provider's Send. What is not known to have failed is never sent
//     again: silence, a lost connection, a lost replica and a shutdown leave the attempt in doubt.
//   - Both deadlines count from the moment of sending. The soft one frees the provider's slot and turns
//     the attempt to unknown; the connection is listened to until the hard one, also after a release or
//     a cancellation, so that a late answer is recorded.
//   - An answer in hand is brought to the store until the store has answered or a shutdown ends.
//   - A replica that cannot be sure of its lease writes nothing to a provider.
//
// A slot is one of the provider's concurrent calls from this replica; waiting for one is first come,
// first served. The first attempt runs at once where it was accepted, if there is a slot; whatever
// waits is a River job of the provider's queue. River is a doorbell: the attempt's row decides, and
// nothing follows from how a River job ends.
//
// Who is next is service/failover's to say, what an answer means providers.Classify's and the
// contract's, and which change is legal the store's.
package dispatch
