package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/providers"
)

// errSeen ends the library's part: the exchange has been captured, it has nothing left to read.
var errSeen = errors.New("the exchange has been captured")

// call is one Send. To go-openai it is the HTTP client; there is no http.Client behind it, hence no
// redirects, no cookies and no second request.
type call struct {
	client   *Client
	request  providers.Request
	exchange providers.Exchange

	dry     bool   // nothing is sent
	address string // that a dry call would have posted to
	header  http.Header
}

// Do takes the library's request, puts our body in place of its own and sends it once.
func (c *call) Do(built *http.Request) (*http.Response, error) {
	draft, err := io.ReadAll(built.Body)
	if err != nil {
		return nil, err
	}
	body, err := wireBody(draft, c.request)
	if err != nil {
		return nil, err
	}
	c.exchange.RequestBody = body
	if c.dry {
		c.address = built.URL.String()
		c.dress(built.Header)
		built.Header.Set("Authorization", "Bearer [not shown]")
		if c.client.config.APIKey == "" {
			built.Header.Del("Authorization")
		}
		c.header = built.Header
		return nil, errSeen
	}
	c.roundTrip(built, body)
	return nil, errSeen
}

func (c *call) roundTrip(built *http.Request, body []byte) {
	var used *conn // nil as long as no connection was assigned, hence nothing written
	var before int64
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		used = info.Conn.(*conn) // both dialers of the transport return nothing else
		before = used.writes()
		c.exchange.Peer = addressOf(info.Conn.RemoteAddr())
	}}
	ctx := built.Context()
	wire := built.Clone(httptrace.WithClientTrace(ctx, trace))
	wire.Body = io.NopCloser(bytes.NewReader(body))
	wire.ContentLength = int64(len(body))
	wire.GetBody = nil // without it nothing below us can send the body a second time
	c.dress(wire.Header)

	response, err := c.client.transport.RoundTrip(wire)
	if err != nil {
		c.exchange.Err = cause(ctx, err)
		c.exchange.Wrote = used != nil && !used.fence(before)
		return
	}
	defer response.Body.Close()
	c.exchange.Wrote = true
	c.client.capture(ctx, response, &c.exchange)
}

// addressOf is the IP address without its port.
func addressOf(remote net.Addr) string {
	host, _, err := net.SplitHostPort(remote.String())
	if err != nil {
		return remote.String()
	}
	return host
}

// dress sets the headers that are ours, in place of those that net/http would read a meaning into.
func (c *call) dress(header http.Header) {
	header.Del("Idempotency-Key")
	header.Del("X-Idempotency-Key")
	header.Set("User-Agent", "fallproof")
	header.Set("Accept-Encoding", "identity")
	if c.request.AttemptID != "" {
		header.Set(AttemptHeader, c.request.AttemptID)
	}
	if name := c.request.Profile.IdempotencyHeader; name != "" {
		header.Set(name, c.request.AttemptID)
	}
}

// capture keeps an answer: status, headers, the body up to the limit, and whether it arrived to its
// declared end.
func (c *Client) capture(ctx context.Context, response *http.Response, ex *providers.Exchange) {
	ex.Status = response.StatusCode
	ex.Header = response.Header.Clone()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return // what follows is another protocol, and would have no end
	}
	limit := c.config.MaxAnswerBytes
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if int64(len(body)) > limit {
		ex.Body, ex.TooLarge = body[:limit], true
		return
	}
	ex.Body = body
	if err != nil {
		ex.Err = cause(ctx, err)
		return
	}
	ex.Complete = declaresEnd(response) || jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true))
}

// declaresEnd reports whether the response said where its body ends, so that net/http noticed if it did
// not get there. A body that ends when the connection does may have been cut anywhere: such a one is
// whole only if it is a JSON value, which shows its own end.
func declaresEnd(response *http.Response) bool {
	return response.ContentLength >= 0 || len(response.TransferEncoding) > 0
}

// cause keeps it visible that ctx ended, whatever the transport made of it.
func cause(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}
