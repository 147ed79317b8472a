package providers

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// utterance is what the messages of a response's output say, taken together.
type utterance struct {
	text       string // of all their text parts, joined, as the format's own clients join them
	isText     bool   // whether there was any such part
	refused    bool
	refusal    string
	unfinished bool // whether a message says of itself that it did not end
}

type outputItem struct {
	Type    jsontext.Value `json:"type"`
	Role    jsontext.Value `json:"role"`
	Status  jsontext.Value `json:"status"`
	Content jsontext.Value `json:"content"`
}

type outputPart struct {
	Type    jsontext.Value `json:"type"`
	Text    jsontext.Value `json:"text"`
	Refusal jsontext.Value `json:"refusal"`
}

// spoken reads the messages of an output; reasoning and calls of tools, which were not asked for, say
// nothing. A problem is why the output cannot be read.
func spoken(raw jsontext.Value) (said utterance, problem string) {
	var items []outputItem
	switch {
	case raw.Kind() != '[':
		return utterance{}, "no output"
	case json.Unmarshal(raw, &items) != nil:
		return utterance{}, "output is not a list of objects"
	case len(items) == 0:
		return utterance{}, "no output"
	}
	var text strings.Builder
	for _, item := range items {
		kind, _ := stringIn(item.Type)
		role, named := stringIn(item.Role)
		if kind != "message" || named && role != "assistant" {
			continue
		}
		var parts []outputPart
		if item.Content.Kind() != '[' || json.Unmarshal(item.Content, &parts) != nil {
			return said, "the content of a message is not a list of objects"
		}
		if status, ok := stringIn(item.Status); ok && status != responseCompleted {
			said.unfinished = true
		}
		for _, part := range parts {
			said.add(part, &text)
		}
	}
	said.text = text.String()
	return said, ""
}

func (u *utterance) add(part outputPart, text *strings.Builder) {
	switch kind, _ := stringIn(part.Type); kind {
	case "output_text":
		if words, ok := stringIn(part.Text); ok {
			u.isText = true
			text.WriteString(words)
		}
	case "refusal":
		u.refused = true
		if u.refusal == "" {
			u.refusal, _ = stringIn(part.Refusal)
		}
	}
}
