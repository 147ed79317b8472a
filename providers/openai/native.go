package openai

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
)

// sendNative posts a question about a prompt to a path of the server itself, beside the version that the base
// URL ends in, with the limits and the distrust of every other call.
func (c *Client) sendNative(ctx context.Context, call *call) error {
	question := call.request.Native
	call.address = strings.TrimSuffix(c.config.BaseURL, "/v1") + question.Path
	call.exchange.RequestBody = question.Body
	built, err := http.NewRequestWithContext(ctx, http.MethodPost, call.address, io.NopCloser(bytes.NewReader(question.Body)))
	if err != nil {
		return err
	}
	built.Header.Set("Content-Type", "application/json")
	built.Header.Set("Accept", "application/json")
	if c.config.APIKey != "" {
		built.Header.Set("Authorization", "Bearer "+c.config.APIKey)
	}
	if !call.dry {
		call.roundTrip(built, question.Body)
	}
	return nil
}
