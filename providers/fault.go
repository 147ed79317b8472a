package providers

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TargetAtFault reports whether a definite failure tells of the target, so that it may count against a proof.
// It does where a completion arrived that is not as it should be, where the prompt was refused for what it says,
// and where an error names the part of the request that the target does not take. Everything else, in whatever
// words, is the day of the provider, the account, or a hop on the way, and says nothing of the target: an outage
// does not spell its name, so that no list of errors could hold them all.
func TargetAtFault(ex Exchange, out Outcome) bool {
	switch out.Reason {
	case ReasonTruncated, ReasonRefused, ReasonContractViolation:
		return true
	case ReasonMalformed:
		return isCompletion(ex)
	case ReasonRejected:
		if ex.Responses && ex.Status == http.StatusOK { // a response that failed
			object, err := decodeResponse(ex.Body)
			return err == nil && namesRequest(object.Error)
		}
		return slices.Contains(aboutRequest, ex.Status) && namesRequest(ex.Body)
	}
	return false
}

// cutOff are how servers end an answer that they could not bring to its end: Mistral and OpenRouter the first, vLLM
// the second.
var cutOff = []string{"error", "abort"}

// isCompletion reports whether a body is a completion, good or bad, by its own format: one without an error that
// has choices, or is a response that came to its end. It need not be strict JSON to be one.
func isCompletion(ex Exchange) bool {
	if ex.TooLarge { // and nobody reads it to its end
		return bytes.HasPrefix(bytes.TrimSpace(ex.Body), []byte("{"))
	}
	lenient := []json.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	body, err := jsontext.NewDecoder(bytes.NewReader(ex.Body), lenient...).ReadValue() // what follows it is of the target too
	if err != nil {                                                                    // another spelling of a completion, e.g. a stream that nobody asked for; one that was cut was cut on the way
		return !errors.Is(err, io.ErrUnexpectedEOF) && bytes.Contains(ex.Body, []byte(`"choices"`))
	}
	if ex.Responses {
		var object responseObject
		if json.Unmarshal(body, &object, lenient...) != nil || says(object.Error) {
			return false
		}
		head, err := object.head()
		return err == nil && head.Ended() && head.Status != responseFailed
	}
	var env envelope
	var choices []choice
	if json.Unmarshal(body, &env, lenient...) != nil || env.failure() != nil || env.Choices.Kind() == 0 || env.Choices.Kind() == 'n' {
		return false
	}
	if json.Unmarshal(env.Choices, &choices, lenient...) != nil || len(choices) == 0 {
		return true
	}
	return !says(choices[0].Error) && !slices.Contains(cutOff, strings.ToLower(lineIn(choices[0].FinishReason)))
}
