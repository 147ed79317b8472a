package providers

import (
	"regexp"
	"strconv"
)

// CacheHeaders are the header fields in which caches and gateways say that they gave an answer themselves; the first
// is RFC 9211's. Whoever keeps an answer as evidence keeps these with it: without them it would pass for a fresh one.
var CacheHeaders = []string{
	"Cache-Status", "Cf-Aig-Cache-Status", "Cf-Cache-Status", "Helicone-Cache", "Idempotent-Replayed", "X-Cache", "X-Cache-Hit", "X-Cache-Status",
	"X-Litellm-Cache-Hit", "X-Openrouter-Cache-Status", "X-Portkey-Cache-Status", "X-Proxy-Cache",
}

// fromCache are the words for it, of any cache on the way ("MISS, HIT", "TCP_HIT", "RefreshHit from cloudfront"),
// stale answers included. RFC 9211's hit is a boolean, true as it stands or as ?1; its fwd=stale is a call that was
// forwarded.
var fromCache = regexp.MustCompile(`(?i)(?:^|[^a-z=])(?:(?:refresh)?hit|stale|updating|revalidated|true)(?:$|[^a-z=]|=\?1)`)

// FromCache is the header field and its value in which an answer says that a cache gave it, "" where none does. A
// replay for an idempotency key is one, too.
func FromCache(header map[string]string) string {
	if age, err := strconv.Atoi(header["Age"]); err == nil && age > 0 {
		return "Age: " + header["Age"]
	}
	for _, name := range CacheHeaders {
		if fromCache.MatchString(header[name]) {
			return name + ": " + header[name]
		}
	}
	return ""
}
