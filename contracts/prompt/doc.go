// Package prompt renders a contract's messages and judges what can be judged of a prompt without
// asking anybody.
//
// Messages are Go text/template over the input's fields. It promises that a field that is missing is an
// error that names it, that numbers come out as they were sent and objects as JSON, and that an input is
// inert: template syntax or control tokens inside a value stay the text that they are, because values
// are never parsed as templates.
//
// Templates may call: and, or, not, eq, ne, len, index, has, json, join, lower, upper, trim. They may
// not define or call other templates.
//
// Where a target's chat template is declared, the prompt is rendered by it too, and judged as the model sees
// it. Templates concatenate: that control tokens of the model inside an input are still text when its server
// has tokenized the prompt cannot be seen here. What is promised is that no template engine obeys them, and
// that with the profile's control_tokens break none is left; the rest a call has to show.
//
// What a target really does with a prompt (counts, canary) is for certification to see; tokens are
// counted by a function that is handed in. No I/O.
package prompt
