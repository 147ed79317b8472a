package job

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/fallproof/fallproof/contracts/value"
)

// Intent is what an owner wants, exactly as sent. Nothing that the service adds (a resolved target, a
// digest, configuration, metadata) is part of it, so that a deploy between two clicks changes nothing.
type Intent struct {
	Contract string
	Input    any    // a value of contracts/value
	Target   string // "" = the client sent none, which is not the same as sending the route's primary
}

// Fingerprint is the SHA-256, in hex, of the intent's canonical form: equal for equal values however
// they were spelled, different for every difference in value.
func (i Intent) Fingerprint() string { return fingerprint(i.value()) }

// Differences are the JSON pointers, sorted, at which two intents differ; none where they are the same.
// They never hold a value.
func (i Intent) Differences(other Intent) []string { return value.Diff(i.value(), other.value()) }

func (i Intent) value() map[string]any {
	v := map[string]any{"contract": i.Contract, "input": i.Input}
	if i.Target != "" {
		v["target"] = i.Target
	}
	return v
}

// AttemptRequest is what an explicit request for another attempt says, exactly as sent.
type AttemptRequest struct {
	Target string // "" = the client sent none
}

// Fingerprint tells one request for an attempt from another under the same key.
func (r AttemptRequest) Fingerprint() string {
	v := map[string]any{}
	if r.Target != "" {
		v["target"] = r.Target
	}
	return fingerprint(v)
}

func fingerprint(v any) string {
	sum := sha256.Sum256(value.Canonical(v))
	return hex.EncodeToString(sum[:])
}
