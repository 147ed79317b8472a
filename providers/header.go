package providers

import (
	"fmt"
	"net/textproto"
	"strings"
)

// ownHeaders are the header fields that a client sets itself, and those that belong to one connection
// and not to a request. An idempotency key in one of them would break the request or be lost on its way.
var ownHeaders = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Authorization": true, "Content-Encoding": true,
	"Content-Length": true, "Content-Type": true, "Cookie": true, "Expect": true, "Host": true,
	"User-Agent": true, "X-Fallproof-Attempt": true,

	"Connection": true, "Http2-Settings": true, "Keep-Alive": true, "Proxy-Authenticate": true,
	"Proxy-Authorization": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true,
}

// ValidateIdempotencyHeader accepts "" and any field name of HTTP that a client is free to use.
func ValidateIdempotencyHeader(name string) error {
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return !tokenRune(r) }):
		return fmt.Errorf("%q is not the name of a header, e.g. Idempotency-Key", oneLine(name))
	case ownHeaders[textproto.CanonicalMIMEHeaderKey(name)]:
		return fmt.Errorf("%s is set by the client itself; want the header that the provider documents, e.g. Idempotency-Key", name)
	}
	return nil
}

// tokenRune reports whether a rune may stand in a token of RFC 9110.
func tokenRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	}
	return strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
