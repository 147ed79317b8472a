package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	goopenai "github.com/sashabaranov/go-openai"

	"github.com/fallproof/fallproof/providers"
)

// neutralModel is what the library is told. It checks parameters by model name and would refuse some
// that a provider accepts; the real name is put on the wire by wireBody.
const neutralModel = "fallproof"

// messages are the request's messages as the profile maps them. An error is why the request cannot be
// built; what wireBody decides is left to it.
func (c *Client) messages(request providers.Request) ([]providers.Message, error) {
	profile := request.Profile.WithDefaults()
	if err := c.serves(profile); err != nil {
		return nil, err
	}
	if !providers.Visible(request.AttemptID) {
		return nil, errors.New("the attempt id holds characters that a header cannot carry")
	}
	if err := providers.ValidateIdempotencyHeader(profile.IdempotencyHeader); err != nil {
		return nil, err
	}
	if request.AttemptID == "" && (profile.IdempotencyHeader != "" || profile.Reconcile != providers.ReconcileNone) {
		return nil, errors.New("no attempt id: the profile has it sent to the provider, which is to know the attempt by it")
	}
	return profile.WireMessages(request.Messages)
}

// serves reports whether a profile is of this client's endpoint.
func (c *Client) serves(profile providers.Profile) error {
	if declared := strings.TrimRight(profile.BaseURL, "/"); declared != "" && declared != c.config.BaseURL {
		return fmt.Errorf("the profile declares base_url %s, this client sends to %s", declared, c.config.BaseURL)
	}
	return nil
}

// completionDraft and responseDraft are the request as the library is asked to build it: the messages
// alone.
func completionDraft(messages []providers.Message) goopenai.ChatCompletionRequest {
	draft := goopenai.ChatCompletionRequest{Model: neutralModel}
	for _, m := range messages {
		draft.Messages = append(draft.Messages, goopenai.ChatCompletionMessage{Role: m.Role, Content: m.Content})
	}
	return draft
}

func responseDraft(messages []providers.Message) goopenai.CreateResponseRequest {
	input := make([]goopenai.ResponseInputMessage, 0, len(messages))
	for _, m := range messages {
		input = append(input, goopenai.ResponseInputMessage{Role: m.Role, Content: m.Content})
	}
	return goopenai.CreateResponseRequest{Model: neutralModel, Input: input}
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
	"background": true, "store": true, "metadata": true, "max_output_tokens": true, "text": true,
}

type member struct {
	name  string
	value jsontext.Value
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
