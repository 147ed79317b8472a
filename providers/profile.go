package providers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	Tokenizer        string `json:"tokenizer"`         // o200k_base | cl100k_base | none
	SystemRole       string `json:"system_role"`       // system | developer | merge
	Temperature      string `json:"temperature"`       // free | omit
	MaxTokensField   string `json:"max_tokens_field"`  // max_completion_tokens | max_tokens
	StructuredOutput string `json:"structured_output"` // json_schema | json_object | none

	// Both change the bytes that are sent. Absent they leave the digest as it was before they existed.
	Reconcile         string `json:"reconcile,omitempty"`          // "" | stored_completions | responses
	IdempotencyHeader string `json:"idempotency_header,omitempty"` // the header that carries the attempt's id; "" = none
}

// Digest is the SHA-256 of the profile in hex. It moves whenever a declared value does.
func (p Profile) Digest() string {
	encoded, err := json.Marshal(p)
	if err != nil { // unreachable: every field is a string or an int
		panic(err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}
