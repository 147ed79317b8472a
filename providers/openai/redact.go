package openai

import (
	"errors"

	"github.com/fallproof/fallproof/providers"
)

// redact takes the API key, and whatever else is secret, out of an exchange, however it is spelled there, also
// where the end of the answer is missing that would have shown the rest of it: providers do echo keys, in 401s
// above all. Cookies go too; nothing here uses them, and records are shown to people.
func (c *Client) redact(ex *providers.Exchange) {
	ex.Header.Del("Set-Cookie")
	ex.RequestBody, ex.Body = c.secrets.Bytes(ex.RequestBody), c.secrets.Bytes(ex.Body)
	if !ex.Complete || ex.TooLarge {
		ex.Body = c.secrets.CutOff(ex.Body)
	}
	for _, values := range ex.Header {
		for i := range values {
			values[i] = c.secrets.Text(values[i])
		}
	}
	if ex.Err == nil {
		return
	}
	if said := c.secrets.Text(ex.Err.Error()); said != ex.Err.Error() {
		ex.Err = redactedError{said, ex.Err}
	}
}

// redactedError says what its cause says without the key, and is what its cause is.
type redactedError struct {
	said  string
	cause error
}

func (e redactedError) Error() string        { return e.said }
func (e redactedError) Is(target error) bool { return errors.Is(e.cause, target) }
