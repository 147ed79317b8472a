package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	goopenai "github.com/sashabaranov/go-openai"

	"github.com/fallproof/fallproof/providers"
)

// neutralModel is what the library is told. It checks parameters by model name and would refuse some
// that a provider accepts; the real name is put on the wire by wireBody.
const neutralModel = "fallproof"

// schemaName is what OpenAI accepts as the name of a response format.
var schemaName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// draft is the request as the library is asked to build it: the messages alone. Everything that a
// profile decides is left to wireBody.
func (c *Client) draft(request providers.Request) (goopenai.ChatCompletionRequest, error) {
	draft := goopenai.ChatCompletionRequest{Model: neutralModel}
	profile := request.Profile.WithDefaults()
	if declared := strings.TrimRight(profile.BaseURL, "/"); declared != "" && declared != c.config.BaseURL {
		return draft, fmt.Errorf("the profile declares base_url %s, this client sends to %s", declared, c.config.BaseURL)
	}
	if !visible(request.AttemptID) {
		return draft, errors.New("the attempt id holds characters that a header cannot carry")
	}
	messages, err := profile.WireMessages(request.Messages)
	if err != nil {
		return draft, err
	}
	for _, m := range messages {
		draft.Messages = append(draft.Messages, goopenai.ChatCompletionMessage{Role: m.Role, Content: m.Content})
	}
	return draft, nil
}

// wireBody turns the library's body into the one that the profile declares. Members that stay keep their
// bytes; those that the profile decides are set or left out.
func wireBody(draft []byte, request providers.Request) ([]byte, error) {
	members, err := objectMembers(draft)
	if err != nil {
		return nil, err
	}
	declared, err := declaredMembers(request)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	write := func(name string, value jsontext.Value) {
		if body.Len() == 0 {
			body.WriteByte('{')
		} else {
			body.WriteByte(',')
		}
		body.WriteString(strconv.Quote(name)) // names are ours or the library's: plain ASCII
		body.WriteByte(':')
		body.Write(value)
	}
	for _, m := range declared {
		write(m.name, m.value)
	}
	for _, m := range members {
		if !decidedByProfile[m.name] {
			write(m.name, m.value)
		}
	}
	body.WriteByte('}')
	return body.Bytes(), nil
}

// decidedByProfile are the members that never come from the library.
var decidedByProfile = map[string]bool{
	"model": true, "temperature": true, "max_tokens": true, "max_completion_tokens": true, "response_format": true,
}

type member struct {
	name  string
	value jsontext.Value
}

// declaredMembers are the members that the profile decides, in the order of the wire.
func declaredMembers(request providers.Request) ([]member, error) {
	profile := request.Profile.WithDefaults()
	model := profile.Model
	if model == "" {
		model = request.Target.Model
	}
	if model == "" {
		return nil, errors.New("no model: neither the profile nor the target names one")
	}
	quoted, err := jsontext.AppendQuote(nil, model)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	members := []member{{"model", quoted}}

	switch t := request.Temperature; {
	case profile.Temperature == providers.TemperatureOmit:
	case profile.Temperature != providers.TemperatureFree:
		return nil, fmt.Errorf("temperature: profile says %q", profile.Temperature)
	case math.IsNaN(t) || math.IsInf(t, 0):
		return nil, errors.New("temperature: not a number that JSON can carry")
	default:
		members = append(members, member{"temperature", jsontext.AppendFloat(nil, t, 64)})
	}

	switch n := request.MaxOutputTokens; {
	case n < 0:
		return nil, fmt.Errorf("max output tokens: %d is negative", n)
	case profile.MaxTokensField != providers.MaxTokens && profile.MaxTokensField != providers.MaxCompletionTokens:
		return nil, fmt.Errorf("max_tokens_field: profile says %q", profile.MaxTokensField)
	case n > 0:
		members = append(members, member{profile.MaxTokensField, jsontext.Value(strconv.Itoa(n))})
	}

	format, err := responseFormat(profile.StructuredOutput, request)
	if err != nil {
		return nil, err
	}
	if format != nil {
		members = append(members, member{"response_format", format})
	}
	return members, nil
}

// responseFormat spells response_format, nil where it is to be absent. The schema's bytes go out as they
// are: no encoder touches them.
func responseFormat(structured string, request providers.Request) (jsontext.Value, error) {
	switch structured {
	case providers.StructuredNone:
		return nil, nil
	case providers.StructuredJSONObject:
		return jsontext.Value(`{"type":"json_object"}`), nil
	case providers.StructuredJSONSchema:
	default:
		return nil, fmt.Errorf("structured_output: profile says %q", structured)
	}
	schema := bytes.TrimSpace(request.Schema)
	if !jsontext.Value(schema).IsValid() {
		return nil, errors.New("structured_output json_schema: the schema is absent or not valid JSON")
	}
	if !schemaName.MatchString(request.SchemaName) {
		return nil, fmt.Errorf("schema name %q: want 1 to 64 letters, digits, - or _", request.SchemaName)
	}
	var format bytes.Buffer
	format.WriteString(`{"type":"json_schema","json_schema":{"name":"` + request.SchemaName + `","strict":true,"schema":`)
	format.Write(schema)
	format.WriteString(`}}`)
	return format.Bytes(), nil
}

// objectMembers splits a JSON object into its members, bytes untouched, in order.
func objectMembers(object []byte) ([]member, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	var members []member
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		members = append(members, member{key, value.Clone()})
	}
	if _, err := decoder.ReadToken(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return members, nil
}
