package providers

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// errorCodes are what the codes of error bodies mean, under a 4xx that stands for any bad request and in a
// response that failed. In lower case.
//
// They are those that OpenAI, Azure OpenAI, Gemini, DeepSeek, Anthropic and Alibaba document, and what
// compatible servers took over from them.
var errorCodes = map[string]statusRow{
	"invalid_api_key":            {reason: ReasonUnauthorized},
	"api_key_invalid":            {reason: ReasonUnauthorized},
	"api_key_expired":            {reason: ReasonUnauthorized},
	"authentication_error":       {reason: ReasonUnauthorized},
	"account_deactivated":        {reason: ReasonUnauthorized},
	"insufficient_quota":         {reason: ReasonUnauthorized},
	"insufficient_balance":       {reason: ReasonUnauthorized},
	"billing_error":              {reason: ReasonUnauthorized},
	"billing_not_active":         {reason: ReasonUnauthorized},
	"billing_hard_limit_reached": {reason: ReasonUnauthorized},

	"content_filter":                 {reason: ReasonRefused},
	"content_policy_violation":       {reason: ReasonRefused},
	"image_content_policy_violation": {reason: ReasonRefused},
	"responsibleaipolicyviolation":   {reason: ReasonRefused},
	"data_inspection_failed":         {reason: ReasonRefused},

	"json_validate_failed": {reason: ReasonContractViolation, retryable: true}, // Groq's: it checks what the model wrote itself

	"rate_limit_exceeded": {reason: ReasonRateLimited, retryable: true},
	// In a response that failed: it has ended, and unlike a bare 500 that is no silence.
	"server_error":          {reason: ReasonServerError, retryable: true},
	"internal_server_error": {reason: ReasonServerError, retryable: true},

	"invalid_prompt":          {reason: ReasonRejected}, // OpenAI's, of prompts that it flags, too: see [flagged]
	"invalid_request_error":   {reason: ReasonRejected},
	"context_length_exceeded": {reason: ReasonRejected},
	"model_not_found":         {reason: ReasonRejected},
}

// accountWords are how providers and gateways say of a key or an account that it is turned away, where they have
// no code for it.
var accountWords = regexp.MustCompile(`(?i)\b(?:incorrect|invalid|expired|missing|no(?:t a)? valid) api[ -]?key\b|` +
	`\bapi[ -]?key (?:is )?(?:not valid|invalid|expired|not found|missing|incorrect)\b|\bx-api-key\b|\bauthorization\b|\bcredit balance\b|` +
	`\b(?:account|organi[sz]ation|project|team|workspace|subscription|plan|tier)\b[^.]{0,60}\b(?:not (?:have|include|allow|permit)|must be|no access)\b|` +
	`\bno such (?:account|organi[sz]ation|project|team|workspace)\b`)

// flagged are the words in which a prompt is refused for what it says, where there is no code for it.
var flagged = regexp.MustCompile(`(?i)\b(?:prompts?|inputs?|content|messages?)\b[^.]{0,40}\bflagged\b`)

// codedReason is what the body of a rejection says better than its status: that the account is turned away, the
// prompt is refused for what it says, or the model wrote what the provider itself found to break the schema.
func codedReason(body []byte) (statusRow, bool) {
	for _, code := range codesIn(body, 0) {
		switch row := errorCodes[strings.ToLower(code)]; row.reason {
		case ReasonUnauthorized, ReasonRefused, ReasonContractViolation:
			return row, true
		}
	}
	switch message := errorMessage(body); {
	case moderated(body), flagged.MatchString(message):
		return statusRow{reason: ReasonRefused}, true
	case accountWords.MatchString(message):
		return statusRow{reason: ReasonUnauthorized}, true
	}
	return statusRow{}, false
}

// moderated reports whether the error says for what a prompt was flagged, as OpenRouter documents it.
func moderated(body []byte) bool {
	var shape struct {
		Error struct {
			Metadata struct {
				Reasons jsontext.Value `json:"reasons"`
				Flagged jsontext.Value `json:"flagged_input"`
			} `json:"metadata"`
		} `json:"error"`
	}
	return json.Unmarshal(body, &shape) == nil && (says(shape.Error.Metadata.Reasons) || says(shape.Error.Metadata.Flagged))
}

// codeMembers are where the shapes of error bodies keep codes: {"error": {"code": …, "type": …, "status": …,
// "innererror": {"code": …}, "details": [{"reason": …}]}}, the same within a list, and bare.
var codeMembers = []string{"code", "type", "status", "reason"}

// deepestError is how deep an error body is read: each level is decoded again, and a body may be nested by the
// thousand.
const deepestError = 5

// codesIn lists the codes of an error body, outermost first.
func codesIn(raw jsontext.Value, depth int) []string {
	if depth > deepestError {
		return nil
	}
	var inside []jsontext.Value
	var codes []string
	switch raw.Kind() {
	case '[':
		if json.Unmarshal(raw, &inside) != nil {
			return nil
		}
	case '{':
		var members map[string]jsontext.Value
		if json.Unmarshal(raw, &members) != nil {
			return nil
		}
		for _, name := range codeMembers {
			if code, ok := stringIn(members[name]); ok {
				codes = append(codes, code)
			} else if members[name].Kind() == '0' {
				codes = append(codes, members[name].String())
			}
		}
		inside = []jsontext.Value{members["error"], members["innererror"], members["details"]}
	}
	for _, one := range inside {
		codes = append(codes, codesIn(one, depth+1)...)
	}
	return codes
}

// requestParts are the parts of a request by the names that its formats give them, and by those that people do.
// A model is named in availability notices, too: it counts where the error denies that there is such a model.
var requestParts = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:messages|roles?|(?:system|developer) (?:message|prompt|instruction)|prompts?|extra inputs|` +
	`input[ _]?tokens|context[ _-]?(?:length|window|size)|max_(?:completion_|output_|new_)?tokens|temperature|response_?format|` +
	`json[ _]?(?:schema|object|mode)|schemas?|formats?|(?:chat )?template|grammar|parameters?|params?|` +
	`(?:un(?:known|recognized|supported)|cannot find|required) (?:request )?(?:field|argument|name)|` +
	`(?:deployment|model)s?[ _]?not[ _]?found|(?:unknown|invalid|unsupported|no such)[ _]model|` +
	`models?[^a-z-].{0,200}\b(?:not (?:exist|found|supported)|is invalid|deprecated|decommissioned|retired)|` +
	`(?:work|supported|compatible) with (?:this|the specified) model|model: \S+)(?:[^a-z]|$)`)

var wordBegins = regexp.MustCompile(`([a-z])([A-Z])`)

// namesRequest reports whether an error complains of a part of the request: in its param, where it stands, its
// message or a code. One that has a code for the account, for too many calls or for the server does not.
func namesRequest(body []byte) bool {
	codes := codesIn(body, 0)
	for _, code := range codes {
		reason := errorCodes[strings.ToLower(code)].reason
		if status, err := strconv.Atoi(code); err == nil && status >= 400 && status < 600 { // a status of its own, within another one
			reason = rowFor(status).reason
		}
		switch reason {
		case ReasonUnauthorized, ReasonRateLimited, ReasonServerError, ReasonGatewayTimeout:
			return false
		}
	}
	said := strings.Join(append(append(codes, errorMessage(body)), whereIn(body)...), "\n")
	return requestParts.MatchString(wordBegins.ReplaceAllString(said, "$1 $2"))
}

// ofNoRequest are values of param that are no part of a request: what is said of the account, and None in Python.
var ofNoRequest = map[string]bool{"none": true, "organization": true, "project": true, "api_key": true, "user": true}

// whereIn is what an error says of where in the request it is: OpenAI's param, FastAPI's loc, and the words of a
// provider behind OpenRouter.
func whereIn(body []byte) []string {
	var shape struct {
		Error struct {
			Param    jsontext.Value `json:"param"`
			Metadata struct {
				Raw jsontext.Value `json:"raw"`
			} `json:"metadata"`
		} `json:"error"`
	}
	var places []string
	if json.Unmarshal(body, &shape) == nil {
		if param, _ := stringIn(shape.Error.Param); param != "" && !ofNoRequest[strings.ToLower(param)] {
			places = append(places, "parameter "+param)
		}
		raw, _ := stringIn(shape.Error.Metadata.Raw)
		places = append(places, raw)
	}
	return append(places, locations(body)...)
}

// locations are those of FastAPI's {"detail": [{"loc": …}]}, which Mistral has in its message.
func locations(body []byte) []string {
	type faults struct {
		Detail []struct {
			Loc jsontext.Value `json:"loc"`
		} `json:"detail"`
	}
	var bare faults
	var within struct {
		Message faults `json:"message"`
	}
	if json.Unmarshal(body, &bare) != nil {
		return nil
	}
	var places []string
	if json.Unmarshal(body, &within) == nil {
		bare.Detail = append(bare.Detail, within.Message.Detail...)
	}
	for _, one := range bare.Detail {
		places = append(places, string(one.Loc))
	}
	return places
}

// aboutRequest are the statuses that can be about what was sent.
var aboutRequest = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}
