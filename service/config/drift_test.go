package config_test

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/drift"
)

func TestDriftIsDeclaredByTheRoute(t *testing.T) {
	for written, want := range map[string]drift.Settings{
		"":                                    {Violations: 0.05, Window: 200, Minimum: 20},
		"    drift: off\n":                    {Off: true},
		"    drift: {}\n":                     {Violations: 0.05, Window: 200, Minimum: 20},
		"    drift: {violations: 0}\n":        {Violations: 0, Window: 200, Minimum: 20},
		"    drift:\n      violations: 0.1\n": {Violations: 0.1, Window: 200, Minimum: 20},
		"    drift: {window: 5}\n":            {Violations: 0.05, Window: 5, Minimum: 5},
		"    drift: {violations: 0.25, window: 40, minimum: 40}\n": {Violations: 0.25, Window: 40, Minimum: 40},
	} {
		t.Run(written, func(t *testing.T) {
			g := gomega.NewWithT(t)
			c, err := config.Parse("f.yaml", []byte(alpha+"routes:\n  support-triage:\n    primary: alpha/m\n"+written), environment())
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(c.Drift("support-triage")).To(gomega.Equal(want))
			g.Expect(c.Drift("invoice-extraction")).To(gomega.Equal(drift.Defaults()), "a contract without a route")
		})
	}
}
