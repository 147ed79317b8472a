package dispatch_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
)

// What one provider says of another one's key is stored without it, and so is what it says of its own.
func TestNobodysKeyIsStored(t *testing.T) {
	const alphas, betas = "sk-alphas-own/key", "0b5e-the+key-of-beta"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, fmt.Sprintf(`{"error": {"message": "not with %s, nor with 0b5e-the&#43;key-of-beta or %s"}}`, alphas, betas))
	}))
	t.Cleanup(server.Close)
	w := newWorld(t, settings{
		URL: server.URL, Alpha: ", api_key_env: ALPHA_KEY", Beta: ", api_key_env: BETA_KEY",
		Env: map[string]string{"ALPHA_KEY": alphas, "BETA_KEY": betas},
	})
	made := w.submit()
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobFailed))
	w.Expect(w.attempts(made)[0].Detail).To(gomega.Equal("status 400: not with [redacted], nor with [redacted] or [redacted]"))
}

// A key that no header carries is found before anything runs.
func TestAMalformedKeyIsRefusedAtOnce(t *testing.T) {
	w := newWorld(t, settings{Idle: true})
	w.config = w.configure(settings{Alpha: ", api_key_env: ALPHA_KEY", Env: map[string]string{"ALPHA_KEY": "sk-hunter2\nhunter3"}})
	_, err := dispatch.New(dispatch.Options{Store: w.store, Config: w.config})
	w.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("environment variable ALPHA_KEY: character 11 is a line break")))
	w.Expect(err.Error()).NotTo(gomega.ContainSubstring("hunter"))
}
