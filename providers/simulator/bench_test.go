package simulator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkAnswer is what one answer costs the process that simulates it, without the network.
func BenchmarkAnswer(b *testing.B) {
	for _, model := range []string{"faithful", "rate-limited"} {
		b.Run(model, func(b *testing.B) {
			sent, _ := sample(b, model)
			body := string(sent)
			s := New(Config{})
			defer s.Close()
			for b.Loop() {
				w := httptest.NewRecorder()
				s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, pathCompletions, strings.NewReader(body)))
				s.ResetLedger()
			}
		})
	}
}
