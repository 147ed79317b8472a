package providers

// CacheHeaders are the header fields in which caches and gateways say that they gave an answer themselves. Whoever
// keeps an answer as evidence keeps these with it: without them it would pass for a fresh one.
var CacheHeaders = []string{
	"Cf-Aig-Cache-Status", "Cf-Cache-Status", "Helicone-Cache", "Idempotent-Replayed", "X-Cache", "X-Cache-Hit", "X-Cache-Status", "X-Litellm-Cache-Hit",
	"X-Portkey-Cache-Status", "X-Proxy-Cache",
}
