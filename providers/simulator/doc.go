// Package simulator is an HTTP server that speaks OpenAI's wire formats, chat completions and responses,
// and behaves, or misbehaves, as real providers do.
//
// It promises four things. Answers are computed from the prompt that arrives: rule-based readers of
// invoices, of customer messages and of the minutes of meetings, so that it answers inputs it has never seen; where it cannot read
// the task it conforms to the schema it was handed, as a small model would. Each model has a
// [Personality], fixed at start, changed while running, or named by the model itself, so that every
// failure is one string away. What was asked to be stored is found again when its work is done, whether
// or not anybody was there to take the answer, and each model has a [Candour], which says how far its
// word about that can be trusted. And the ledger holds every request received, before anything is decided
// about it, so that tests compare what a provider saw, and did, with what the store says.
//
// # Personalities
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
//	refusing[:filter|:prompt]   a refusal; with filter, finish_reason content_filter; with prompt, 400 with that code
//	flaky[:N]                   exactly one in N consecutive answers of a model, five if not said, is wrong as plausible is
//	turning[:N]                 well N times, 50 if not said, and as plausible from then on
//	slow[:DURATION]             answers well after a delay below usual deadlines, 150ms if not said
//	late[:DURATION]             answers well after a delay beyond them, 3s if not said
//	silent[:WORK]               never answers; ends when the client or the server goes
//	hold[:PERSONALITY]          answers as that personality, faithful if not said, once released
//	dropping[:reset][:WORK]     closes the connection after reading the request, and working
//	half-body                   declares a whole body, sends half of it and closes
//	rate-limited[:DURATION]     429 with Retry-After, 1s if not said
//	overloaded[:STATUS|DURATION][:WORK]  503 without Retry-After; another 5xx; or 503 with Retry-After
//	error-200                   status 200 with an error object
//	empty-choices               status 200 with no choices
//	redirecting[:STATUS]        redirects to itself, 307 if not said
//	renamed[:MODEL]             says that another model served the request
//	retuned[:FINGERPRINT]       answers well with another system_fingerprint than before
//	unauthorized[:STATUS]       401; or 400 and 403, and 402 for want of money
//	footnote                    a note after the JSON
//	thinking                    reasoning before the JSON, for one input in three or so
//	raw-newline                 an unescaped newline inside a string
//	not-a-number                NaN where a number, null or truth value should be
//	duplicate-key               the first key twice
//	byte-order-mark             before the JSON
//	lone-surrogate              half a surrogate pair inside a string
//	looping[:N]                 one in N answers, three if not said, breaks off into white space until the limit
//	babbling                    says the same over and over until the limit
//	shouting                    values of enumerations in capitals
//	filling                     "" or 0 where nothing is known
//	escaping                    everything beyond ASCII as \u sequences, which means the same
//	decimal                     12.0 for 12, which means the same
//	unenforcing                 takes a schema and leaves the answer to the model, which obeys an order to break it
//	complying                   a model that keeps to its schema by itself and obeys no such order
//	picky[:WHAT]                refuses a request with temperature (if not said), max_tokens, max_completion_tokens,
//	                            response_format, or with the role system or developer
//	cached                      says in its header that the answer comes out of a cache
//	counting[:N]                counts N times the tokens of the prompt, three times if not said
//	choking[:N]                 never answers a prompt of N tokens or more, 300 if not said
//	doubling                    puts BOS before a prompt that has one
//	rewriting                   begins the prompt with words of its own
//	obeying                     obeys control tokens in a message: what stands behind the first is lost
//	concatenating               takes control tokens in a message for tokens, and answers well all the same
//	portal                      status 200 with a page for browsers
//	mute                        an empty answer
//	hesitating[:N]              silent to one in N requests, three if not said, and faithful to the others
//	anonymous                   names neither its model nor a fingerprint
//
// WORK is executed or unexecuted: whether the model does what was asked for, although the client cannot
// tell. Not said, dropping does and silent and overloaded do not. Of the others rate-limited, redirecting,
// portal, unauthorized and refusing:prompt do no work, and the rest does.
//
// # Stored completions
//
// A chat completion asked for with "store": true is listed, filtered by metadata, model and page, and
// fetched by its id, from the moment at which its work is done. That work goes on when the client has gone
// or the connection was broken. Requests that did no work, and error-200, leave nothing behind.
//
// # Background responses
//
// A response asked for with "background": true is answered at once, queued, and fetched by its id: in
// progress until the work is done, then completed; incomplete for truncating and refusing:filter, failed
// for error-200. What refuses does so at the POST; dropping and half-body break it off, and the work goes
// on; plain silent is in progress for ever, while silent with WORK never answers the POST.
//
// # Idempotency
//
// Where a model declares a header, see [Idempotency], a second POST with the same key and body is answered
// as the first one was, or should have been, and causes no work; with another body it is refused. A key is
// taken by the first request that puts the model to work: one that was refused takes none, and a model that
// refuses does so before it looks at a key.
//
// # Questions
//
// GETs of the listing and of single completions and responses are questions. They stand in a ledger of
// their own, under the model and the attempt that they are about, as far as that can be told: by the id,
// by the metadata, by the model or the attempt that they name. That model's candour decides:
//
//	honest                      says what there is
//	absent[:N]                  lists nothing and knows no id, for N questions or until changed
//	unfiltered                  lists everything whatever was asked for, fetches the newest whatever the id
//	failing[:STATUS[:DURATION]] an error, 500 if not said, with Retry-After where a duration is said
//	slow[:DURATION]             honest after a delay, 3s if not said
//	silent                      never answers
//	dropping                    closes the connection
//	garbled                     status 200 with a page that is no JSON
//	half-body                   declares a whole body, sends half of it and closes
//
// # Hosting
//
// A model may be hosted, see [Simulator.Host]: its prompts go through a chat template, their tokens are counted
// so, and what the template refuses is refused. Then two more paths are answered, as llama.cpp's server and
// vLLM do: POST /apply-template with messages, and POST /tokenize with content, prompt or messages; both take
// the model's name. They stand in the ledger of questions. The ids of tokens are made up, but for BOS.
//
// # Control
//
// Beside the provider's own paths it answers under /simulator/:
//
//	GET    /simulator/ledger?attempt=&model=&answered=true&executed=true&produced=true&wait_for=N&timeout=10s
//	GET    /simulator/questions     likewise, of the questions
//	DELETE /simulator/ledger        empties both
//	GET    /simulator/models
//	PUT    /simulator/models/NAME   {"personality": "late:2s", "delay": "500ms", "questions": "absent",
//	                                 "idempotency": {"header": "Idempotency-Key", "conflict": true},
//	                                 "hosted": {"chat_template": "{% for m in messages %}…", "tokenizer": "o200k_base"}}
//	PUT    /simulator/questions     {"questions": "failing:500"}, for models that have no candour of their own
//	POST   /simulator/release       {"attempt": ID} or {"model": NAME}
//
// A PUT says all of a model: what it leaves out is as if it had never been set. The personality may be
// left out where the model's name says it.
//
// What is not simulated: streaming, tools, images, several choices, conversations, deleting and cancelling.
// What an answer means is for providers, what it is worth for contracts.
package simulator
