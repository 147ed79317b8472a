package api

import (
	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fallproof/fallproof/contracts/certification"
)

// metrics answers in Prometheus' text format. Whoever may not see jobs sees no more than the routes' names here.
func (s *Server) metrics(c *gin.Context) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(proofCollector{func() ([]certification.Standing, error) {
		return within(c.Request.Context(), s.store.limit, s.dispatcher.Proofs)
	}})
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(c.Writer, c.Request)
	return nil
}

// proofCollector reads the proofs that the routes rest on whenever it is asked, so that a record which nobody
// renews is seen to age.
type proofCollector struct {
	proofs func() ([]certification.Standing, error)
}

var (
	proofLabels = []string{"contract", "target"}
	proofAge    = prometheus.NewDesc("fallproof_certification_age_seconds",
		"How long ago the record was issued that the target's proof rests on.", proofLabels, nil)
	proofLeft = prometheus.NewDesc("fallproof_certification_expires_in_seconds",
		"How long that record still counts; negative where it has expired.", proofLabels, nil)
	proofStands = prometheus.NewDesc("fallproof_certification_certified",
		"1 where the proof is certified, in force, and neither revoked nor suspended, from whatever source; else 0.", proofLabels, nil)
)

// Describe implements prometheus.Collector.
func (p proofCollector) Describe(to chan<- *prometheus.Desc) {
	to <- proofAge
	to <- proofLeft
	to <- proofStands
}

// Collect implements prometheus.Collector. A target without any proof has no age; it is not certified.
func (p proofCollector) Collect(to chan<- prometheus.Metric) {
	standings, err := p.proofs()
	if err != nil {
		to <- prometheus.NewInvalidMetric(proofStands, err)
		return
	}
	for _, standing := range standings {
		labels := []string{standing.Key.Contract, standing.Key.Target.String()}
		gauge := func(of *prometheus.Desc, value float64) {
			to <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
		}
		proof := standing.Proof
		if proof == nil {
			gauge(proofStands, 0)
			continue
		}
		gauge(proofAge, standing.Now.Sub(proof.IssuedAt).Seconds())
		gauge(proofLeft, proof.ExpiresAt.Sub(standing.Now).Seconds())
		stands := 0.0
		if len(standing.Reasons(certification.EverySource)) == 0 {
			stands = 1
		}
		gauge(proofStands, stands)
	}
}
