package openai

import (
	"bytes"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/providers"
)

// minSecret is the length from which an API key is looked for in what a provider sends back. Shorter
// ones guard nothing, and replacing them would garble ordinary text.
const minSecret = 8

const redacted = "[redacted]"

// redact removes the API key from an exchange: providers do echo it, in 401s above all. Cookies go too;
// nothing here uses them, and records are shown to people.
func redact(ex *providers.Exchange, key string) {
	ex.Header.Del("Set-Cookie")
	if len(key) < minSecret {
		return
	}
	for _, form := range spellings(key) {
		ex.RequestBody = replace(ex.RequestBody, form)
		ex.Body = replace(ex.Body, form)
		for _, values := range ex.Header {
			for i := range values {
				values[i] = strings.ReplaceAll(values[i], form, redacted)
			}
		}
		if ex.Err != nil && strings.Contains(ex.Err.Error(), form) {
			ex.Err = errors.New(strings.ReplaceAll(ex.Err.Error(), form, redacted))
		}
	}
}

// spellings are the ways in which a key may stand in text or JSON.
func spellings(key string) []string {
	forms := []string{key}
	if quoted, err := jsontext.AppendQuote(nil, key); err == nil {
		inner := string(quoted[1 : len(quoted)-1])
		forms = append(forms, inner, strings.ReplaceAll(inner, "/", `\/`))
	}
	return forms
}

func replace(body []byte, secret string) []byte {
	if !bytes.Contains(body, []byte(secret)) {
		return body
	}
	return bytes.ReplaceAll(body, []byte(secret), []byte(redacted))
}
