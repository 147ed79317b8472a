// Package chattemplate renders prompts of self-hosted models as their servers do, with the model's own Jinja
// chat template, so that what is only visible after rendering can be checked before anything is sent:
// roles that the template refuses, a doubled or missing BOS, what of the window is left.
//
// It promises the bytes that the reference (Jinja2 as Hugging Face's transformers sets it up, with an empty
// tools list) renders, held to by goldens of four families. Messages are data to the template: Jinja syntax inside a
// content is never evaluated. It does not promise that control tokens inside a content stay text: templates
// concatenate, and what becomes of the result is for the server's tokenizer. [Chat.Controls] says which they are.
//
// Which template and which tokens a model has is declared by its [providers.Profile]; the caller maps
// messages with [providers.Profile.WireMessages] first. No I/O, but templates may ask for today's date.
package chattemplate
