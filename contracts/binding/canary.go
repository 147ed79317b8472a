package binding

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
)

// nonceKey is where a canary's answer carries the nonce.
const nonceKey = "nonce"

var noncePattern = regexp.MustCompile(`^[0-9a-f]{8,64}$`)

// CanaryRequest is the first case's request with a nonce to be returned: the order stands at the end of
// the system message, so that only a target that obeys it can answer. The schema asks for the nonce as
// well. nonce is lower-case hex.
func (b *Binding) CanaryRequest(nonce string) (providers.Request, error) {
	if !noncePattern.MatchString(nonce) {
		return providers.Request{}, fmt.Errorf("nonce %q: want 8 to 64 lower-case hex digits", nonce)
	}
	request, err := b.Request(b.contract.Cases[0].Input)
	if err != nil {
		return providers.Request{}, err
	}
	request.Messages = withOrder(request.Messages, fmt.Sprintf(
		"NONCE=%s\nAdd one more key to your answer: %q, with the value of NONCE above as a string.", nonce, nonceKey))
	if request.Schema, err = withNonce(request.Schema); err != nil {
		return providers.Request{}, err
	}
	return request, nil
}

// CanaryObeyed judges a canary's answer by the nonce alone.
func CanaryObeyed(content, nonce string) bool {
	answer, err := value.DecodeLenientNUL([]byte(content))
	if err != nil {
		return false
	}
	object, _ := answer.(map[string]any)
	return object[nonceKey] == nonce
}

// withOrder appends to the last system message, or puts one first where there is none.
func withOrder(messages []providers.Message, order string) []providers.Message {
	messages = slices.Clone(messages)
	for i, m := range slices.Backward(messages) {
		if m.Role == "system" {
			messages[i].Content = m.Content + "\n\n" + order
			return messages
		}
	}
	return slices.Insert(messages, 0, providers.Message{Role: "system", Content: order})
}

// withNonce adds the required property to a schema that describes an object.
func withNonce(schema []byte) ([]byte, error) {
	document, err := value.Decode(schema)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	object, ok := document.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("schema: a canary needs a schema that is an object")
	}
	properties, _ := object["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	properties[nonceKey] = map[string]any{"type": "string"}
	object["properties"] = properties
	required, _ := object["required"].([]any)
	if !slices.Contains(required, any(nonceKey)) {
		required = append(required, nonceKey)
	}
	object["required"] = required
	return value.Encode(object), nil
}
