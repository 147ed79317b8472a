package providers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Source says what a certification against a provider is worth.
type Source string

const (
	SourceLive      Source = "live"
	SourceReplay    Source = "replay"
	SourceSimulated Source = "simulated"
)

// What the enumerated fields of a Profile may hold. Configuration, validation and wire format share them.
const (
	TokenizerO200K  = "o200k_base"
	TokenizerCL100K = "cl100k_base"
	TokenizerNone   = "none" // token checks are reported as not verified
	TokenizerOwn    = "file" // a tokenizer.json, in Profile.TokenizerFile

	ControlTokensKeep  = "keep"  // what a user typed is sent as it is; the default
	ControlTokensBreak = "break" // each control token typed into a message is sent with an invisible character in it

	NativeLlamaCpp = "llama.cpp" // POST /apply-template and POST /tokenize
	NativeVLLM     = "vllm"      // POST /tokenize with messages

	RoleSystem    = "system"
	RoleDeveloper = "developer"
	RoleMerge     = "merge" // no such role: system text is prepended to the first user message

	TemperatureFree = "free"
	TemperatureOmit = "omit" // the target refuses the parameter, whatever its value

	MaxCompletionTokens = "max_completion_tokens"
	MaxTokens           = "max_tokens"

	StructuredJSONSchema = "json_schema"
	StructuredJSONObject = "json_object"
	StructuredNone       = "none"

	ReconcileNone              = ""
	ReconcileStoredCompletions = "stored_completions" // sent with store and the attempt's id in metadata, listed by that
	ReconcileResponses         = "responses"          // background responses, fetched by their id
)

// Profile is everything declared about a target that shapes the bytes sent to it or the way they are
// judged. Deadlines, concurrency and credentials are not part of it: they change nothing that was proven.
type Profile struct {
	BaseURL          string `json:"base_url"`
	Model            string `json:"model"`
	Source           Source `json:"source"`
	ContextWindow    int    `json:"context_window"`    // tokens; 0 = not declared
	Tokenizer        string `json:"tokenizer"`         // o200k_base | cl100k_base | none | file
	SystemRole       string `json:"system_role"`       // system | developer | merge
	Temperature      string `json:"temperature"`       // free | omit
	MaxTokensField   string `json:"max_tokens_field"`  // max_completion_tokens | max_tokens
	StructuredOutput string `json:"structured_output"` // json_schema | json_object | none

	// Both change the bytes that are sent. Absent they leave the digest as it was before they existed.
	Reconcile         string `json:"reconcile,omitempty"`          // "" | stored_completions | responses
	IdempotencyHeader string `json:"idempotency_header,omitempty"` // the header that carries the attempt's id; "" = none

	// Of self-hosted models. Absent they leave the digest alone, too.
	TokenizerFile  File    `json:"tokenizer_file,omitzero"`   // with tokenizer file: a tokenizer.json
	ChatTemplate   File    `json:"chat_template,omitzero"`    // Jinja, as the server applies it
	BOSToken       string  `json:"bos_token,omitempty"`       // what the template calls bos_token; "" = the model has none
	EOSToken       string  `json:"eos_token,omitempty"`       // what the template calls eos_token
	AddBOS         bool    `json:"add_bos,omitempty"`         // the server puts BOS before the rendered prompt, whatever is in it
	ControlTokens  string  `json:"control_tokens,omitempty"`  // keep | break; "" = keep
	TokenTolerance float64 `json:"token_tolerance,omitempty"` // by which share the provider's count may differ from ours; 0 = the default
	Native         string  `json:"native,omitempty"`          // whom to ask for the server's own rendering: "" | llama.cpp | vllm

	// Breaks are the control tokens to be broken, one a line, as the files above have them.
	Breaks string `json:"breaks,omitempty"`
}

// DefaultTokenTolerance is the share by which counts may differ where a profile says nothing.
const DefaultTokenTolerance = 0.10

// Tolerance is the share by which the provider's count of a prompt may differ from the local one.
func (p Profile) Tolerance() float64 {
	if p.TokenTolerance == 0 {
		return DefaultTokenTolerance
	}
	return p.TokenTolerance
}

// Settings are what [Profile.Digest] covers, by the names of the configuration, each as JSON. What is not declared is
// not among them.
func (p Profile) Settings() map[string][]byte {
	encoded, err := json.Marshal(p)
	if err != nil { // unreachable, as in Digest
		panic(err)
	}
	var members map[string]jsontext.Value
	if err := jsonv2.Unmarshal(encoded, &members); err != nil {
		panic(err)
	}
	settings := make(map[string][]byte, len(members))
	for name, text := range members {
		settings[name] = text
	}
	return settings
}

// Digest is the SHA-256 of the profile in hex. It moves whenever a declared value does.
func (p Profile) Digest() string {
	encoded, err := json.Marshal(p)
	if err != nil { // unreachable: Validate has refused what is no finite number
		panic(err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}
