package openai

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/fallproof/fallproof/providers"
)

// look reads one resource of the provider by GET, with the limits, the redaction and the distrust of a
// Send: no redirect, no compression, a bounded body. An endpoint that hangs cannot use up the time for the
// next look. It goes without the fence of a POST, since a GET
// that leaves twice does no harm.
func (c *Client) look(ctx context.Context, attemptID, path string, query url.Values) providers.Exchange {
	ctx, cancel := context.WithTimeout(ctx, c.config.LookTimeout)
	defer cancel()
	ex := providers.Exchange{Started: time.Now()}
	c.get(ctx, attemptID, path, query, &ex)
	ex.Finished = time.Now()
	c.redact(&ex)
	return ex
}

func (c *Client) get(ctx context.Context, attemptID, path string, query url.Values, ex *providers.Exchange) {
	var wrote atomic.Bool // net/http writes from a goroutine of its own
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	address := c.config.BaseURL + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		ex.Err, ex.Unbuildable = err, true
		return
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("User-Agent", "fallproof")
	if c.config.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+c.config.APIKey)
	}
	if attemptID != "" {
		request.Header.Set(AttemptHeader, attemptID)
	}
	response, err := c.transport.RoundTrip(request)
	ex.Wrote = wrote.Load()
	if err != nil {
		ex.Err = cause(ctx, err)
		return
	}
	defer response.Body.Close()
	ex.Wrote = true
	c.capture(ctx, response, ex)
}

// whole reports whether an exchange is a 200 that arrived to its end.
func whole(ex providers.Exchange) bool {
	return ex.Status == http.StatusOK && ex.Complete && !ex.TooLarge
}
