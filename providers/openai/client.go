package openai

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/secrets"
)

// Defaults of Config.
const (
	DefaultMaxAnswerBytes = 4 << 20
	DefaultDialTimeout    = 10 * time.Second
	DefaultPollPause      = 250 * time.Millisecond
	DefaultLookTimeout    = 30 * time.Second
)

// AttemptHeader carries the attempt's id, so that a provider's log can be matched with the attempts.
const AttemptHeader = "X-Fallproof-Attempt"

// Config is what a client needs to know about its endpoint.
type Config struct {
	BaseURL        string        // up to and including the version, e.g. https://api.example/v1
	APIKey         string        // sent as a bearer token; "" sends no Authorization header
	MaxAnswerBytes int64         // of an answer's body; 0 = DefaultMaxAnswerBytes
	DialTimeout    time.Duration // for connecting and the TLS handshake together; 0 = DefaultDialTimeout
	PollPause      time.Duration // before a background response is looked at, growing to 20 times it; 0 = DefaultPollPause
	LookTimeout    time.Duration // for one GET: a look at a response, a page of a listing; 0 = DefaultLookTimeout
	TLS            *tls.Config   // e.g. a private certificate authority; nil = the system's

	// Secrets are kept out of exchanges besides the key, such as the keys of other endpoints.
	Secrets secrets.Scrubber
}

// Client is a [providers.Provider] and a [providers.Finder] for one endpoint. It may be used concurrently.
type Client struct {
	config    Config
	err       error // what is wrong with the configuration; every Send reports it
	transport *http.Transport
	secrets   secrets.Scrubber // knows the key, and the others
}

var _ providers.Provider = (*Client)(nil)

// New never fails: a configuration that cannot work is reported by every Send as unbuildable, so that a
// provider nobody uses keeps nobody from starting.
func New(config Config) *Client {
	config.MaxAnswerBytes = cmp.Or(config.MaxAnswerBytes, DefaultMaxAnswerBytes)
	config.DialTimeout = cmp.Or(config.DialTimeout, DefaultDialTimeout)
	config.PollPause = cmp.Or(config.PollPause, DefaultPollPause)
	config.LookTimeout = cmp.Or(config.LookTimeout, DefaultLookTimeout)
	config.BaseURL = strings.TrimRight(config.BaseURL, "/")
	return &Client{config: config, err: config.validate(), transport: newTransport(config), secrets: config.Secrets.With(config.APIKey)}
}

// Close closes the connections that no Send is using. The client stays usable.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Send makes at most one POST and returns when the answer is complete, the connection broke or ctx
// ended. It knows of one deadline only, ctx's: one that passes a softer deadline just goes on. A
// background response that was accepted is followed by GETs to its end.
func (c *Client) Send(ctx context.Context, request providers.Request) providers.Exchange {
	call := &call{client: c, request: request}
	call.exchange.Started = time.Now()
	if err := c.send(ctx, call); err != nil {
		call.exchange.Err = err
		call.exchange.Unbuildable = true
	}
	call.exchange.Finished = time.Now()
	c.redact(&call.exchange)
	return call.exchange
}

// send has go-openai build the request and hand it to call.Do. An error is why nothing was handed over.
func (c *Client) send(ctx context.Context, call *call) error {
	if c.err != nil {
		return c.err
	}
	if call.request.Native != nil {
		return c.sendNative(ctx, call)
	}
	messages, err := c.messages(call.request)
	if err != nil {
		return err
	}
	library := goopenai.DefaultConfig(c.config.APIKey)
	library.BaseURL = c.config.BaseURL
	library.HTTPClient = call
	client := goopenai.NewClientWithConfig(library)
	responses := call.request.Profile.Reconcile == providers.ReconcileResponses
	if responses {
		_, err = client.CreateResponse(ctx, responseDraft(messages))
	} else {
		_, err = client.CreateChatCompletion(ctx, completionDraft(messages))
	}
	if !errors.Is(err, errSeen) {
		return err
	}
	if responses && !call.dry {
		call.follow(ctx)
	}
	return nil
}

// Draft is what Send would post, and where to, without sending anything. An error is why nothing can be sent.
func (c *Client) Draft(request providers.Request) (address string, body []byte, err error) {
	address, _, body, err = c.Preview(request)
	return address, body, err
}

// Preview is [Client.Draft] with the headers that are set here. In place of the key stands that it is not
// shown; it does not have to be known.
func (c *Client) Preview(request providers.Request) (address string, header http.Header, body []byte, err error) {
	call := &call{client: c, request: request, dry: true}
	if err := c.send(context.Background(), call); err != nil {
		return "", nil, nil, err
	}
	return call.address, call.header, call.exchange.RequestBody, nil
}

func (c Config) validate() error {
	if err := providers.ValidateBaseURL(c.BaseURL); err != nil {
		return err
	}
	if err := providers.ValidateAPIKey(c.APIKey); err != nil {
		return fmt.Errorf("the API key: %w", err)
	}
	if c.MaxAnswerBytes < 0 || c.DialTimeout < 0 || c.PollPause < 0 || c.LookTimeout < 0 {
		return errors.New("limits, timeouts and pauses must not be negative")
	}
	return nil
}
