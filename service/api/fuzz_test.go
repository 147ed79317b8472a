package api

import (
	"net/http"
	"strings"
	"testing"
)

// A key that is taken is visible ASCII within the limit, and its quoted form names the same key.
func FuzzIdempotencyKey(f *testing.F) {
	for _, text := range []string{"abc", `"abc"`, `"a\"b\\c"`, `"`, "a b", "é", strings.Repeat("k", 256)} {
		f.Add(text)
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	f.Fuzz(func(t *testing.T, text string) {
		key, err := idempotencyKey(http.Header{idempotencyHeader: {text}})
		if err != nil {
			return
		}
		if key == "" || len(key) > mostKeyLength || strings.Trim(key, visibleASCII) != "" {
			t.Fatalf("%q was taken as %q", text, key)
		}
		again, err := idempotencyKey(http.Header{idempotencyHeader: {`"` + quote.Replace(key) + `"`}})
		if err != nil || again != key {
			t.Fatalf("%q: its quoted form is %q, %v", key, again, err)
		}
	})
}

var visibleASCII = func() string {
	var all strings.Builder
	for c := byte('!'); c <= '~'; c++ {
		all.WriteByte(c)
	}
	return all.String()
}()
