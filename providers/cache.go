package providers

import (
	"regexp"
	"slices"
	"strings"
)

// CacheHeaders are the header fields in which caches and gateways say that they gave an answer themselves; the first
// is RFC 9211's. Without them an answer that is kept would pass for a fresh one.
var CacheHeaders = []string{
	"Cache-Status", "Cf-Aig-Cache-Status", "Cf-Cache-Status", "Helicone-Cache", "Idempotent-Replayed", "X-Cache", "X-Cache-Hit", "X-Cache-Status",
	"X-Litellm-Cache-Hit", "X-Openrouter-Cache-Status", "X-Portkey-Cache-Status", "X-Proxy-Cache",
}

// AnswerHeaders are the header fields that say something of an answer and hold no credential. Whoever keeps an answer
// keeps these and leaves every other one behind: a list of what to hide would miss the next provider's cookie,
// organisation or echoed credential.
var AnswerHeaders = slices.Concat([]string{
	"Age", "Cache-Control", "Content-Length", "Content-Type", "Date", "Retry-After", "Server", "Via",
}, CacheHeaders)

// fromCache are the words for it, of any cache on the way ("MISS, HIT", "TCP_HIT", "RefreshHit from cloudfront"),
// stale answers included; what was hit for another request's sake was forwarded.
var fromCache = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:(?:refresh)?hit(?:[^a-z-]|$|-[^fF])|(?:stale|updating|revalidated|true|yes)(?:[^a-z]|$))`)

// cacheHit is RFC 9211's parameter, a boolean: true as it stands and as ?1. In lower case, since keys are.
var cacheHit = regexp.MustCompile(`;[ \t]*hit(?:=\?1)?[ \t]*(?:;|,|$)`)

var quotedString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// FromCache is the header field and its value in which an answer says that a cache gave it, "" where none does. A
// replay for an idempotency key is one, too.
func FromCache(header map[string]string) string {
	age, _, _ := strings.Cut(header["Age"], ",") // the first of several counts, by RFC 9111 section 5.1
	if strings.Trim(age, "0123456789 ") == "" && strings.Trim(age, "0 ") != "" {
		return "Age: " + header["Age"]
	}
	for _, name := range CacheHeaders {
		value, said := header[name], fromCache
		if name == "Cache-Status" && strings.Contains(value, ";") { // what is quoted are names and notes
			value, said = quotedString.ReplaceAllString(value, `""`), cacheHit
		}
		if said.MatchString(value) || value == "1" {
			return name + ": " + header[name]
		}
	}
	return ""
}
