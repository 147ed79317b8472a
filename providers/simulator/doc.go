// Package simulator is an HTTP server that speaks OpenAI's chat-completions wire format and behaves, or
// misbehaves, as real providers do.
//
// It promises three things. Answers are computed from the prompt that arrives: a rule-based reader of
// invoices and of customer messages, so that it answers inputs it has never seen; where it cannot read
// the task it conforms to the schema it was handed, as a small model would. Each model has a
// [Personality], fixed at start, changed while running, or named by the model itself, so that every
// failure is one string away. And the ledger holds every request received, before anything is decided
// about it, so that tests compare what a provider saw with what the store says.
//
// A model's name may be a personality or end in one behind a dash, slash, dot or underscore:
// faithful, acme-faithful, org/late:3s. These are the personalities and what may follow their colon:
//
//	faithful                    reads the prompt and answers well
//	extra-key                   adds a top-level key that nobody asked for
//	deaf                        ignores the system message wholly
//	plausible                   meets the schema and is wrong in every answer, in arithmetic or in logic
//	fenced                      wraps the answer in a code fence
//	chatty                      writes sentences around the answer
//	truncating[:parses]         finish_reason length; with parses, the JSON is whole and white space was cut
//	refusing[:filter]           a refusal; with filter, finish_reason content_filter
//	flaky                       exactly one in five consecutive answers of a model is wrong as plausible is
//	slow[:DURATION]             answers well after a delay below usual deadlines, 150ms if not said
//	late[:DURATION]             answers well after a delay beyond them, 3s if not said
//	silent                      never answers; ends when the client or the server goes
//	hold[:PERSONALITY]          answers as that personality, faithful if not said, once released
//	dropping[:reset]            closes the connection after reading the request
//	half-body                   declares a whole body, sends half of it and closes
//	rate-limited[:DURATION]     429 with Retry-After, 1s if not said
//	overloaded[:STATUS|DURATION]  503 without Retry-After; another 5xx; or 503 with Retry-After
//	error-200                   status 200 with an error object
//	empty-choices               status 200 with no choices
//	redirecting[:STATUS]        redirects to itself, 307 if not said
//	renamed[:MODEL]             says that another model served the request
//	unauthorized                401
//
// Beside the provider's own paths it answers under /simulator/:
//
//	GET    /simulator/ledger?attempt=&model=&answered=true&wait_for=N&timeout=10s
//	DELETE /simulator/ledger
//	GET    /simulator/models
//	PUT    /simulator/models/NAME   {"personality": "late:2s", "delay": "500ms"}
//	POST   /simulator/release       {"attempt": ID} or {"model": NAME}
//
// What is not simulated: streaming, tools, images, several choices. What an answer means is for
// providers, what it is worth for contracts.
package simulator
