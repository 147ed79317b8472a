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
// What a target really does with a prompt (counts, canary) is for certification to see; tokens are
// counted by a function that is handed in. No I/O.
package prompt
