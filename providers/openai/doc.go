// Package openai sends one request to one OpenAI-compatible endpoint and reports what was seen.
//
// It promises:
//   - the body on the wire is exactly what the target's profile declares: the real model name,
//     temperature 0 really sent or really absent, the right max-tokens field, roles and response_format,
//     the schema's bytes unchanged;
//   - one Send is at most one POST at the far end, whatever the connection does: nothing can rewind the
//     body, so that net/http re-sends it not even where the profile's idempotency header invites it to,
//     and no redirect is followed;
//   - a background response that was accepted is followed by GETs until it has ended or ctx has, and one
//     look that fails proves nothing;
//   - Find says "absent" only where the provider itself said so, well-formed and to the end, and takes for
//     the attempt's answer only what carries the attempt's id;
//   - Exchange.Wrote false is a fact, not a guess: the connection is fenced before it is said;
//   - the answer is captured raw, with its headers, up to a limit, and with whether it arrived whole;
//   - the API key occurs in no Exchange and in no error.
//
// go-openai spells out the endpoint, the messages and the authorisation. It never sees the answer: its
// reading omits zero temperatures, hides Retry-After and takes an error body under a 200 for an answer.
//
// Connections are HTTP/1.1 and reused while they are fresh. Proxies from the environment are not used: a
// proxy can answer in the provider's name, and nobody certified it. Compression is not asked for, so that
// the bytes kept as evidence are the bytes that were sent.
//
// What an exchange means is left to [providers.Classify], deadlines and retries to service/dispatch.
package openai
