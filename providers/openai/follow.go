package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/fallproof/fallproof/providers"
)

// mostPauses is to how many times the first pause the pause between two looks grows.
const mostPauses = 20

// maxReference bounds the provider's ids: they are stored, and stand in the path of a URL.
const maxReference = 255

// follow stays with a background response until it has ended or ctx has. The exchange becomes that of
// the last look that said something; a look that fails, or says that there is no such response, proves
// nothing about one that was accepted, and is repeated.
func (c *call) follow(ctx context.Context) {
	c.exchange.Responses = true
	c.client.redact(&c.exchange) // before anything of it is told or asked for
	head, accepted := acceptance(c.exchange)
	if !accepted {
		return
	}
	c.exchange.Status = http.StatusOK // also where it was 202: its body is a response object, and is read as one
	if !usable(head.ID) {
		if !head.Ended() {
			c.exchange.Err = errors.New("the provider's id of the response cannot be asked for")
		}
		return
	}
	if c.request.Accepted != nil {
		c.request.Accepted(head.ID)
	}
	reference, pause, said, header := head.ID, c.client.config.PollPause, "", c.exchange.Header
	for !head.Ended() {
		wait, _ := providers.RetryAfter(header, time.Now())
		if err := rest(ctx, max(pause, wait)); err != nil {
			c.exchange.Err = err
			if said != "" {
				c.exchange.Err = fmt.Errorf("%w; last seen: %s", err, said)
			}
			return
		}
		pause = min(pause*3/2, c.client.config.PollPause*mostPauses)
		ex := c.client.look(ctx, c.request.AttemptID, responsePath(reference), nil)
		header = ex.Header
		next, problem := recognise(ex, reference, c.request.AttemptID)
		if problem == "" {
			head, said = next, ""
			c.saw(ex)
		} else if ctx.Err() == nil { // a look that was cut short says less than the one before
			said = problem
		}
	}
}

// saw takes over what a look brought; what was sent, and when, stays.
func (c *call) saw(ex providers.Exchange) {
	c.exchange.Status, c.exchange.Header, c.exchange.Body = ex.Status, ex.Header, ex.Body
	c.exchange.Complete, c.exchange.Err = true, nil
}

// acceptance reads the answer to the POST. A 202 says the same as a 200 here: the answer is elsewhere.
func acceptance(ex providers.Exchange) (providers.Response, bool) {
	if ex.Status == http.StatusAccepted {
		ex.Status = http.StatusOK
	}
	if !whole(ex) {
		return providers.Response{}, false
	}
	head, err := providers.ParseResponse(ex.Body)
	return head, err == nil
}

// recognise reads what a look at a response brought; a problem is why it says nothing about it.
func recognise(ex providers.Exchange, reference, attemptID string) (head providers.Response, problem string) {
	ex.Responses = true
	if !whole(ex) {
		return head, providers.Classify(ex, providers.Rules{}).Detail
	}
	head, err := providers.ParseResponse(ex.Body)
	if err != nil {
		return head, providers.Classify(ex, providers.Rules{}).Detail
	}
	of, named := head.Metadata[AttemptMetadata]
	if named && of != attemptID || !named && head.ID != reference {
		return head, "the provider answered with another response than the one asked for"
	}
	return head, ""
}

func responsePath(reference string) string { return "/responses/" + url.PathEscape(reference) }

// usable reports whether an id can be stored and asked for: dots would be taken for a way through the
// tree.
func usable(reference string) bool {
	return reference != "" && reference != "." && reference != ".." && len(reference) <= maxReference && providers.Visible(reference)
}

// rest waits, or says why it did not wait to the end.
func rest(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
