package providers_test

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
)

func TestFromCache(t *testing.T) {
	for name, values := range map[string][]string{
		"Age":                 {"3"},
		"Cache-Status":        {"squid; hit", "edge;hit=?1;ttl=30", "origin; fwd=miss, edge; hit", "HIT"},
		"Cf-Cache-Status":     {"HIT", "STALE", "UPDATING", "REVALIDATED"},
		"Idempotent-Replayed": {"true"},
		"X-Cache":             {"Hit from cloudfront", "RefreshHit from cloudfront", "MISS, HIT", "TCP_HIT from a23", "TCP_MEM_HIT", "hit"},
		"X-Litellm-Cache-Hit": {"True"},
	} {
		for _, value := range values {
			gomega.NewWithT(t).Expect(providers.FromCache(map[string]string{name: value})).To(gomega.Equal(name + ": " + value))
		}
	}
	for name, values := range map[string][]string{
		"Age":                 {"0", "", "old"},
		"Cache-Status":        {"squid; fwd=miss; stored", "edge; hit=?0", "edge; fwd=stale; fwd-status=200", "origin; fwd=bypass"},
		"Cf-Cache-Status":     {"DYNAMIC", "MISS", "BYPASS", "EXPIRED"},
		"X-Cache":             {"Miss from cloudfront", "MISS, MISS", "TCP_MISS", "Error from cloudfront", "WHITELIST"},
		"X-Litellm-Cache-Hit": {"False", ""},
		"X-Request-Id":        {"hit"},
	} {
		for _, value := range values {
			gomega.NewWithT(t).Expect(providers.FromCache(map[string]string{name: value})).To(gomega.BeEmpty(), "%s: %s", name, value)
		}
	}
}
