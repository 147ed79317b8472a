package simulator

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// bendFields changes what is said, before it is written down.
func (w *work) bendFields(asked *prompt, a *answer) {
	switch w.p.kind() {
	case Shouting:
		a.fields = asked.shout(a.fields)
	case Filling:
		a.fields = asked.fill(a.fields)
	case Decimal:
		a.fields, _ = withFractions(a.fields).(*object)
	}
}

var (
	textValue   = regexp.MustCompile(`:"([^"])`)
	scalarValue = regexp.MustCompile(`:(?:-?[0-9][0-9.eE+-]*|null|true|false)([,}\]])`)
)

// bendText changes how it is written. finish is "" where the text ends by itself.
func (w *work) bendText(asked *prompt, text string) (bent, finish string) {
	switch w.p.kind() {
	case Fenced:
		return "```json\n" + text + "\n```", ""
	case Chatty:
		return "Sure! Here is what I found:\n\n" + text + "\n\nLet me know if you need anything else.", ""
	case Footnote:
		return text + "\n\nNote: amounts and names are as they stand in the text.", ""
	case Thinking:
		if sha256.Sum256([]byte(asked.data))[0]%3 == 0 {
			return "<think>This one {needs} a second look.</think>\n" + text, ""
		}
	case RawNewline:
		return replaceFirst(textValue, text, ":\"\n$1"), ""
	case LoneSurrogate:
		return replaceFirst(textValue, text, `:"\ud83d$1`), ""
	case NotANumber:
		return replaceFirst(scalarValue, text, ":NaN$1"), ""
	case DuplicateKey:
		if first, rest, found := strings.Cut(text, ":"); found {
			return first + ":null," + strings.TrimPrefix(first, "{") + ":" + rest, ""
		}
	case ByteOrderMark:
		return "\ufeff" + text, ""
	case Escaping:
		return escaped(text), ""
	case Looping:
		if w.sim.roster.stumbles(w.chat.Model, cmp.Or(w.p.Count, 3)) {
			return prefix(text, len(text)*2/3) + strings.Repeat("\n        ", 200), finishLength
		}
	case Babbling:
		return strings.TrimSuffix(text, "}") + `,"remark":"` + strings.Repeat("and so on ", 200), finishLength
	case Mute:
		return "", finishStop
	}
	return text, ""
}

// replaceFirst leaves a text alone that has no such place.
func replaceFirst(pattern *regexp.Regexp, text, by string) string {
	at := pattern.FindStringSubmatchIndex(text)
	if at == nil {
		return text
	}
	return text[:at[0]] + string(pattern.ExpandString(nil, by, text, at)) + text[at[1]:]
}

// escaped writes everything beyond ASCII as JSON's \u sequences, which mean the same.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// shout writes the values of enumerations in capitals.
func (p *prompt) shout(fields *object) *object {
	return p.reword(fields, func(node *object, value any) any {
		text, ok := value.(string)
		if ok && node.has("enum") {
			return strings.ToUpper(text)
		}
		return value
	})
}

// fill puts an empty value where there is none.
func (p *prompt) fill(fields *object) *object {
	return p.reword(fields, func(node *object, value any) any {
		if value != nil {
			return value
		}
		switch typeOf(node) {
		case "string":
			return ""
		case "integer", "number":
			return 0.0
		}
		return nil
	})
}

// reword replaces the values of the top level by what say makes of them and their schema.
func (p *prompt) reword(fields *object, say func(node *object, value any) any) *object {
	if p.schema == nil {
		return fields
	}
	reworded := &object{}
	for _, m := range fields.members {
		if node, ok := p.schema.properties().get(m.name).(*object); ok {
			m.value = say(p.schema.resolve(node, 0), m.value)
		}
		reworded.set(m.name, m.value)
	}
	return reworded
}

// withFractions writes whole numbers as 12.0, which are the same numbers.
func withFractions(value any) any {
	switch v := value.(type) {
	case *object:
		changed := &object{}
		for _, m := range v.members {
			changed.set(m.name, withFractions(m.value))
		}
		return changed
	case []any:
		changed := make([]any, len(v))
		for i, element := range v {
			changed[i] = withFractions(element)
		}
		return changed
	case *big.Rat:
		if v.IsInt() {
			return jsontext.Value(decimal(v) + ".0")
		}
	case jsontext.Value:
		if n, ok := new(big.Rat).SetString(string(v)); ok && n.IsInt() && !strings.ContainsAny(string(v), ".eE") {
			return jsontext.Value(string(v) + ".0")
		}
	}
	return value
}

// dislikes are the parts of a request that a picky model refuses, by the word that names them.
var dislikes = map[string]struct {
	status  int
	present func(*chatRequest) bool
}{
	"temperature":           {400, func(q *chatRequest) bool { return q.Temperature != nil }},
	"max_tokens":            {422, func(q *chatRequest) bool { return q.MaxTokens != nil }},
	"max_completion_tokens": {422, func(q *chatRequest) bool { return q.MaxCompletionTokens != nil }},
	"response_format":       {400, func(q *chatRequest) bool { return q.ResponseFormat != nil }},
	"system":                {400, func(q *chatRequest) bool { return q.hasRole("system") }},
	"developer":             {400, func(q *chatRequest) bool { return q.hasRole("developer") }},
}

// dislikes refuses a request that has what a picky model does not take.
func (p Personality) dislikes(q *chatRequest) *apiError {
	if p.kind() != Picky {
		return nil
	}
	disliked := dislikes[p.Variant]
	if disliked.present == nil || !disliked.present(q) {
		return nil
	}
	refusal := invalid("unsupported_parameter", p.Variant, "Unsupported: '%s' is not supported with this model.", p.Variant)
	refusal.status = disliked.status
	return refusal
}

func (q *chatRequest) hasRole(role string) bool {
	for _, m := range q.Messages {
		if m.Role == role {
			return true
		}
	}
	return false
}
