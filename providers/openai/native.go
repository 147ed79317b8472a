package openai

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"

	"github.com/fallproof/fallproof/providers"
)

var _ providers.NativeAsker = (*Client)(nil)

// AskNative sends one POST to a path of the server itself, beside the version that the base URL ends in:
// with the limits, the redaction and the distrust of a Send, and for at most LookTimeout. It causes no work,
// so that it goes without the fence of a Send.
func (c *Client) AskNative(ctx context.Context, attemptID, path string, body []byte) providers.Exchange {
	ctx, cancel := context.WithTimeout(ctx, c.config.LookTimeout)
	defer cancel()
	ex := providers.Exchange{Started: time.Now(), RequestBody: body}
	if err := c.askNative(ctx, attemptID, path, body, &ex); err != nil {
		ex.Err = err
	}
	ex.Finished = time.Now()
	redact(&ex, c.config.APIKey)
	return ex
}

func (c *Client) askNative(ctx context.Context, attemptID, path string, body []byte, ex *providers.Exchange) error {
	if c.err != nil {
		ex.Unbuildable = true
		return c.err
	}
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		ex.Peer = addressOf(info.Conn.RemoteAddr())
	}})
	address := strings.TrimSuffix(c.config.BaseURL, "/v1") + path
	request, err := http.NewRequestWithContext(traced, http.MethodPost, address, io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		ex.Unbuildable = true
		return err
	}
	request.ContentLength = int64(len(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("User-Agent", "fallproof")
	request.Header.Set(AttemptHeader, attemptID)
	if c.config.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+c.config.APIKey)
	}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		ex.Wrote = true // nobody needs to know better: nothing follows from it
		return cause(ctx, err)
	}
	defer response.Body.Close()
	ex.Wrote = true
	c.capture(ctx, response, ex)
	return nil
}
