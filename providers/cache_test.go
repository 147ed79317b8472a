package providers_test

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
)

func TestFromCache(t *testing.T) {
	for _, name := range providers.CacheHeaders {
		gomega.NewWithT(t).Expect(providers.FromCache(map[string]string{name: "HIT"})).To(gomega.Equal(name + ": HIT"))
	}
	for name, values := range map[string][]string{
		"Age":                 {"3", "5, 0", "99999999999999999999"},
		"Cache-Status":        {"squid; hit", "edge;hit=?1;ttl=30", "origin; fwd=miss, edge; hit", "HIT", `"a; b"; hit; detail="x"`},
		"Cf-Cache-Status":     {"HIT", "STALE", "UPDATING", "REVALIDATED"},
		"Idempotent-Replayed": {"true"},
		"X-Cache":             {"Hit from cloudfront", "RefreshHit from cloudfront", "MISS, HIT", "TCP_HIT from a23", "TCP_MEM_HIT", "hit", "HIT, MISS", "hit-stale"},
		"X-Cache-Hit":         {"1", "yes", "true"},
		"X-Litellm-Cache-Hit": {"True"},
	} {
		for _, value := range values {
			gomega.NewWithT(t).Expect(providers.FromCache(map[string]string{name: value})).To(gomega.Equal(name + ": " + value))
		}
	}
	for name, values := range map[string][]string{
		"Age":                 {"0", "", "old", "0, 5", "00"},
		"Cache-Status":        {"squid; fwd=miss; stored", "edge; hit=?0", "edge; fwd=stale; fwd-status=200", "origin; fwd=bypass", "hit-proxy; fwd=miss", `"stale; hit"; fwd=uri-miss`, `edge; fwd=miss; detail="not a hit; hit"`},
		"Cf-Cache-Status":     {"DYNAMIC", "MISS", "BYPASS", "EXPIRED"},
		"X-Cache":             {"Miss from cloudfront", "MISS, MISS", "TCP_MISS", "Error from cloudfront", "WHITELIST", "hit-for-pass", "HIT-FOR-MISS"},
		"X-Cache-Hit":         {"0", "no", "false"},
		"X-Litellm-Cache-Hit": {"False", ""},
		"X-Request-Id":        {"hit"},
	} {
		for _, value := range values {
			gomega.NewWithT(t).Expect(providers.FromCache(map[string]string{name: value})).To(gomega.BeEmpty(), "%s: %s", name, value)
		}
	}
}
