// Package cassettes keeps exchanges with a provider in files, in the format of go-vcr, and plays them back.
//
// It promises:
//   - no byte reaches the disk before the secrets were taken out, in every spelling that a scrubber knows,
//     from the URL, the headers and both bodies; of headers only those on a list are kept at all;
//   - a file is whole or not there, and is its owner's alone (0600, in folders of 0700);
//   - what is played back is what was seen, to the byte, with the times and the peer of that day, unless a
//     secret stood in it;
//   - a call is played only for the request that was recorded: same call, method, URL and body;
//   - playing opens no connection: nothing in it could.
//
// A cassette says of itself for whom it was recorded and whom it met, and anybody with an editor can make it
// say something else. What that is worth is left to who plays it.
package cassettes
