package config_test

import (
	"strings"
	"testing"

	"github.com/fallproof/fallproof/service/config"
)

// Whatever the file holds, it is either a whole configuration or one line that says what is wrong.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	for _, text := range []string{alpha, "server: {listen: ':1'}", "a: &x [*x]", "? {a: b}\n: c", "providers: {a: {models: {1: {}}}}", "\x00", "- - -"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse("f.yaml", data, environment())
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v and %v", c, err)
		}
		if err == nil {
			for _, target := range c.Targets() {
				profile, ok := c.Profile(target)
				if !ok || profile.Validate() != nil {
					t.Fatalf("%s: %+v", target, profile)
				}
			}
			return
		}
		if text := err.Error(); strings.Contains(text, "\n") || !strings.HasPrefix(text, "f.yaml:") {
			t.Fatalf("not one line with its place: %q", text)
		}
	})
}
