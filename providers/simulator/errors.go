package simulator

import (
	"fmt"
	"net/http"
)

// apiError is an error in OpenAI's shape.
type apiError struct {
	status  int
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

type errorBody struct {
	Error *apiError `json:"error"`
}

const typeInvalid = "invalid_request_error"

func newError(status int, kind, code, param, format string, values ...any) *apiError {
	return &apiError{
		status: status, Message: fmt.Sprintf(format, values...), Type: kind, Param: optional(param), Code: optional(code),
	}
}

// invalid is a 400 about one parameter.
func invalid(code, param, format string, values ...any) *apiError {
	return newError(http.StatusBadRequest, typeInvalid, code, param, format, values...)
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func errUnknownModel(model string) *apiError {
	return newError(http.StatusNotFound, typeInvalid, "model_not_found", "",
		"The model `%s` does not exist or you do not have access to it.", model)
}

func errUnknownURL(method, path string) *apiError {
	return newError(http.StatusNotFound, typeInvalid, "unknown_url", "", "Unknown request URL: %s %s.", method, path)
}

func errUnauthorized() *apiError { return errAccount(http.StatusUnauthorized) }

// errAccount turns an account away, with the status that one provider or another has for it.
func errAccount(status int) *apiError {
	if status == http.StatusPaymentRequired {
		return newError(status, typeInvalid, "insufficient_balance", "", "Insufficient balance.")
	}
	return newError(status, typeInvalid, "invalid_api_key", "", "Incorrect API key provided.")
}

// errFiltered refuses a prompt for what it says, before a model sees it.
func errFiltered() *apiError {
	return invalid("content_filter", "prompt", "The prompt was filtered by the content management policy.")
}

func errTooLarge() *apiError {
	return newError(http.StatusRequestEntityTooLarge, typeInvalid, "request_too_large", "",
		"The request body is larger than %d bytes.", maxRequestBytes)
}

func errRateLimited() *apiError {
	return newError(http.StatusTooManyRequests, "requests", "rate_limit_exceeded", "",
		"Rate limit reached for requests. Please try again later.")
}

func errOverloaded(status int) *apiError {
	return newError(status, "server_error", "", "", "The engine is currently overloaded, please try again later.")
}

func errInside() *apiError {
	return newError(http.StatusOK, "server_error", "internal_error", "", "The model produced an error.")
}
