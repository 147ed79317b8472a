package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/service/failover"
)

type contractSummary struct {
	Name         string  `json:"name"`
	Digest       string  `json:"contract_digest"`
	Effects      string  `json:"effects"`
	ReleaseAfter *string `json:"release_after"`
	ValidFor     string  `json:"valid_for"`
	Cases        int     `json:"cases"`
}

type contractView struct {
	contractSummary
	Messages   []messageView      `json:"messages"`
	Schema     jsontext.Value     `json:"schema"`
	Sampling   samplingView       `json:"sampling"`
	Checks     []checkView        `json:"checks"`
	Thresholds map[string]float64 `json:"thresholds"`
	Route      *routeView         `json:"route"`
}

type messageView struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type samplingView struct {
	Temperature     float64 `json:"temperature"`
	Samples         int     `json:"samples"`
	MaxOutputTokens *int    `json:"max_output_tokens"`
}

type checkView struct {
	Name string `json:"name"`
	Expr string `json:"expr"`
}

type routeView struct {
	Primary                 string   `json:"primary"`
	Fallbacks               []string `json:"fallbacks"`
	MaxAttempts             int      `json:"max_attempts"`
	OnRefusal               string   `json:"on_refusal"`
	RequireCertifiedPrimary bool     `json:"require_certified_primary"`
}

type targetView struct {
	Target          string                 `json:"target"`
	Role            string                 `json:"role"`
	Eligible        bool                   `json:"eligible"`
	Reasons         []certification.Reason `json:"reasons"`
	CertificationID *string                `json:"certification_id"`
	ExpiresAt       *time.Time             `json:"expires_at"`

	Warnings []certification.Warning `json:"warnings"` // of a proof that stands all the same
	Events   []certification.Event   `json:"events"`   // of the record that the proof rests on: why it is suspended, among others
}

func (s *Server) listContracts(c *gin.Context) error {
	if _, err := query(c.Request); err != nil {
		return err
	}
	answer(c, http.StatusOK, pageOf(s.config.Catalog.All(), "", summarize))
	return nil
}

func (s *Server) getContract(c *gin.Context) error {
	contract, ok := s.config.Catalog.Get(c.Param("name"))
	if !ok {
		return newProblem(NotFound, "")
	}
	answer(c, http.StatusOK, s.viewContract(contract))
	return nil
}

func (s *Server) listTargets(c *gin.Context) error {
	contract, ok := s.config.Catalog.Get(c.Param("name"))
	if !ok {
		return newProblem(NotFound, "")
	}
	targets, err := within(c.Request.Context(), s.store.limit, func(ctx context.Context) ([]failover.TargetStatus, error) {
		return s.dispatcher.Targets(ctx, contract.Name)
	})
	if err != nil {
		return err
	}
	answer(c, http.StatusOK, pageOf(targets, "", func(status failover.TargetStatus) targetView {
		return viewTarget(identity(c).Owner, status)
	}))
	return nil
}

func summarize(contract *contracts.Contract) contractSummary {
	summary := contractSummary{
		Name: contract.Name, Digest: contract.Digest(), Effects: string(contract.Effects),
		ValidFor: contract.ValidFor.String(), Cases: len(contract.Cases),
	}
	if contract.ReleaseAfter > 0 {
		text := contract.ReleaseAfter.String()
		summary.ReleaseAfter = &text
	}
	return summary
}

func (s *Server) viewContract(contract *contracts.Contract) contractView {
	view := contractView{
		contractSummary: summarize(contract),
		Messages:        make([]messageView, len(contract.Messages)),
		Schema:          raw(string(contract.Schema)),
		Sampling: samplingView{
			Temperature: contract.Sampling.Temperature, Samples: contract.Sampling.Samples,
			MaxOutputTokens: orNull(contract.Sampling.MaxOutputTokens),
		},
		Checks: make([]checkView, len(contract.Checks)),
		Thresholds: map[string]float64{
			certification.DimensionPrompt:    contract.Thresholds.Prompt,
			certification.DimensionStructure: contract.Thresholds.Structure,
			certification.DimensionBusiness:  contract.Thresholds.Business,
			certification.DimensionRoundTrip: contract.Thresholds.RoundTrip,
		},
	}
	for i, message := range contract.Messages {
		view.Messages[i] = messageView(message)
	}
	for i, check := range contract.Checks {
		view.Checks[i] = checkView(check)
	}
	view.Route = s.viewRoute(contract.Name)
	return view
}

// viewRoute is null where a job of the contract has to name its target.
func (s *Server) viewRoute(contract string) *routeView {
	route, ok := s.config.Routes[contract]
	if !ok {
		return nil
	}
	view := &routeView{
		Primary: route.Primary.String(), Fallbacks: []string{}, MaxAttempts: route.MaxAttempts,
		OnRefusal: route.OnRefusal, RequireCertifiedPrimary: route.RequireCertifiedPrimary,
	}
	for _, fallback := range route.Fallbacks {
		view.Fallbacks = append(view.Fallbacks, fallback.String())
	}
	return view
}

func viewTarget(owner string, status failover.TargetStatus) targetView {
	view := targetView{
		Target: status.Target.String(), Role: status.Role, Eligible: status.Eligible, Reasons: status.Reasons,
		CertificationID: orNull(status.CertificationID), ExpiresAt: moment(status.ExpiresAt),
		Warnings: status.Warnings, Events: certification.EventsOf(owner, status.Events),
	}
	if view.Warnings == nil {
		view.Warnings = []certification.Warning{}
	}
	if view.Reasons == nil {
		view.Reasons = []certification.Reason{}
	}
	return view
}
