package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/fallproof/fallproof/providers"
)

var _ providers.Finder = (*Client)(nil)

// Find asks the provider what became of an attempt, in the way that the profile declares. It trusts
// nothing that it was not told in so many words: absence is a well-formed answer that says so, and an
// answer counts only if it is this attempt's.
func (c *Client) Find(ctx context.Context, question providers.Question) providers.Finding {
	switch err := c.askable(question); {
	case err != nil:
		return nothing(err.Error())
	case question.Profile.Reconcile == providers.ReconcileResponses:
		return c.findResponse(ctx, question)
	default:
		return c.findStored(ctx, question)
	}
}

func (c *Client) askable(question providers.Question) error {
	if c.err != nil {
		return c.err
	}
	if err := c.serves(question.Profile); err != nil {
		return err
	}
	how := question.Profile.Reconcile
	switch {
	case how != providers.ReconcileStoredCompletions && how != providers.ReconcileResponses:
		return fmt.Errorf("reconcile: the profile says %q, so the provider cannot be asked", how)
	case question.AttemptID == "":
		return errors.New("the attempt has no id to be asked for by")
	case !providers.Visible(question.AttemptID):
		return errors.New("the attempt id holds characters that a header cannot carry")
	case how != providers.ReconcileResponses:
		return nil
	case question.Reference == "":
		return errors.New("its id was never learned: the provider's answer to the request did not arrive")
	case !usable(question.Reference):
		return errors.New("the provider's id of the response cannot be asked for")
	}
	return nil
}

// findResponse asks for a background response by its id.
func (c *Client) findResponse(ctx context.Context, question providers.Question) providers.Finding {
	ex := c.look(ctx, question.AttemptID, responsePath(question.Reference), nil)
	if ex.Status == http.StatusNotFound && ex.Complete && deniesResponse(ex.Body, question.Reference) {
		return told(ex, providers.FoundAbsent, "the provider has no such response")
	}
	if !whole(ex) {
		return unanswered(ex, "the provider has no responses to be asked for")
	}
	head, problem := recognise(ex, question.Reference, question.AttemptID)
	switch {
	case problem != "":
		return told(ex, providers.FoundNothing, problem)
	case head.Ended():
		return found(ex, ex.Body, true)
	case head.Unfinished():
		return told(ex, providers.FoundUnfinished, "the response is still "+head.Status)
	}
	return told(ex, providers.FoundNothing, fmt.Sprintf("status %q does not say whether the response has ended", head.Status))
}

// withinMore are the characters beside an id that make it a part of something else: of a longer id, or of
// a path. An error about the path says that there is no such endpoint, and nothing about the response.
var withinMore = regexp.MustCompile(`[A-Za-z0-9_/-]`)

// deniesResponse reports whether a body is an error about exactly this response.
func deniesResponse(body []byte, reference string) bool {
	var denial struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &denial) != nil {
		return false
	}
	before, after, named := strings.Cut(denial.Error.Message, reference)
	beside := before[max(0, len(before)-1):] + after[:min(1, len(after))]
	return named && !withinMore.MatchString(beside)
}

// found is an answer as if it had come by the attempt's own connection.
func found(ex providers.Exchange, body []byte, responses bool) providers.Finding {
	finding := told(ex, providers.FoundAnswer, "the provider has the answer")
	ex.Body, ex.Responses = body, responses
	finding.Exchange = ex
	return finding
}

// told is what a look brought, and how long the provider asked to be left alone.
func told(ex providers.Exchange, what providers.Found, detail string) providers.Finding {
	wait, _ := providers.RetryAfter(ex.Header, time.Now())
	return providers.Finding{Found: what, Detail: detail, RetryAfter: wait}
}

func nothing(detail string) providers.Finding {
	return providers.Finding{Found: providers.FoundNothing, Detail: detail}
}

// unanswered is a look that did not bring a whole 200. Missing says what an endpoint that is not there
// means.
func unanswered(ex providers.Exchange, missing string) providers.Finding {
	detail := providers.Classify(ex, providers.Rules{}).Detail
	switch ex.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		detail = missing + ": remove reconcile from its configuration (" + detail + ")"
	case http.StatusUnauthorized, http.StatusForbidden:
		detail = "the provider does not let this key ask: give it that permission, or remove reconcile (" + detail + ")"
	}
	return told(ex, providers.FoundNothing, detail)
}
