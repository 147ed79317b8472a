package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/fallproof/fallproof/service/store"
)

// What a route asks of the key.
const (
	scopeOpen = ""    // no key
	scopeAny  = "any" // any key that is in use
)

// route is one address: how it is served and how /openapi.json describes it.
type route struct {
	Method, Path string
	Name         string // operationId
	Summary      string
	Scope        string
	Handle       func(*gin.Context) error
	Body         string // schema of the request's body; "" = none
	BodyOptional bool
	Key          bool           // takes an Idempotency-Key
	Wait         bool           // heeds Prefer: wait
	Stream       bool           // answers with server-sent events where the client accepts them
	Query        []string       // parameters
	Answers      map[int]string // status to schema; "" = not JSON
	Problems     []Kind         // beyond those that every route may answer with
}

func (s *Server) routes() []route {
	routes := s.jobRoutes()
	routes = append(routes, s.operatorRoutes()...)
	routes = append(routes, s.proofRoutes()...)
	return append(routes, s.openRoutes()...)
}

func (s *Server) jobRoutes() []route {
	made := func(schema string) map[int]string {
		return map[int]string{http.StatusCreated: schema, http.StatusOK: schema}
	}
	return []route{
		{
			Method: http.MethodPost, Path: "/v1/jobs", Name: "createJob", Summary: "Create the job of an intent, or find the one that the key already names",
			Scope: store.ScopeClient, Handle: s.createJob, Body: "NewJob", Key: true, Wait: true, Answers: made("JobDetail"),
			Problems: []Kind{KeyConflict, JobPurged, UnknownContract, UnknownTarget, InvalidInput},
		},
		{
			Method: http.MethodGet, Path: "/v1/jobs", Name: "listJobs", Summary: "The owner's jobs, newest first",
			Scope: scopeAny, Handle: s.listJobs, Query: []string{"state", "contract", "limit", "cursor"}, Answers: ok("JobList"),
		},
		{
			Method: http.MethodGet, Path: "/v1/jobs/:job", Name: "getJob", Summary: "One job",
			Scope: scopeAny, Handle: s.getJob, Wait: true, Answers: ok("JobDetail"), Problems: []Kind{NotFound, JobPurged},
		},
		{
			Method: http.MethodPost, Path: "/v1/jobs/:job/cancel", Name: "cancelJob", Summary: "Cancel the job and every open attempt of it",
			Scope: store.ScopeClient, Handle: s.cancelJob, Body: "Nothing", BodyOptional: true, Answers: ok("Job"),
			Problems: []Kind{NotFound, JobPurged, JobFinal},
		},
		{
			Method: http.MethodGet, Path: "/v1/jobs/:job/events", Name: "listEvents", Summary: "The job's history, as a page or as a stream",
			Scope: scopeAny, Handle: s.listEvents, Query: []string{"after"}, Stream: true, Answers: ok("EventPage"), Problems: []Kind{NotFound, JobPurged},
		},
		{
			Method: http.MethodGet, Path: "/v1/jobs/:job/attempts", Name: "listAttempts", Summary: "The job's attempts",
			Scope: scopeAny, Handle: s.listAttempts, Answers: ok("AttemptPage"), Problems: []Kind{NotFound, JobPurged},
		},
		{
			Method: http.MethodPost, Path: "/v1/jobs/:job/attempts", Name: "createAttempt", Summary: "Try again explicitly, at the intended target or another one",
			Scope: store.ScopeClient, Handle: s.createAttempt, Body: "NewAttempt", BodyOptional: true, Key: true, Wait: true, Answers: made("Attempt"),
			Problems: []Kind{NotFound, JobPurged, KeyConflict, AttemptInFlight, AttemptInDoubt, JobFinal, FallbackNotCertified, AttemptsExhausted, UnknownTarget},
		},
		{
			Method: http.MethodGet, Path: "/v1/jobs/:job/attempts/:number", Name: "getAttempt", Summary: "One attempt",
			Scope: scopeAny, Handle: s.getAttempt, Answers: ok("Attempt"), Problems: []Kind{NotFound, JobPurged},
		},
	}
}

func (s *Server) operatorRoutes() []route {
	verb := func(path, name, summary, body string, optional bool, handle func(*gin.Context) error, kinds ...Kind) route {
		return route{
			Method: http.MethodPost, Path: "/v1/jobs/:job/attempts/:number/" + path, Name: name, Summary: summary,
			Scope: store.ScopeOperator, Handle: handle, Body: body, BodyOptional: optional, Answers: ok("Attempt"),
			Problems: append(kinds, NotFound, JobPurged, IllegalTransition),
		}
	}
	return []route{
		verb("resolve", "resolveAttempt", "Say how an attempt in doubt ended", "Resolution", false, s.resolveAttempt, InvalidInput),
		verb("release", "releaseAttempt", "Stop waiting for an attempt in doubt; it may still win", "Note", true, s.releaseAttempt),
		verb("cancel", "cancelAttempt", "Fence an attempt: it can never win", "Note", true, s.cancelAttempt),
	}
}

func (s *Server) proofRoutes() []route {
	return []route{
		{
			Method: http.MethodGet, Path: "/v1/contracts", Name: "listContracts", Summary: "The catalogue",
			Scope: scopeAny, Handle: s.listContracts, Answers: ok("ContractPage"),
		},
		{
			Method: http.MethodGet, Path: "/v1/contracts/:name", Name: "getContract", Summary: "One contract with its route",
			Scope: scopeAny, Handle: s.getContract, Answers: ok("Contract"), Problems: []Kind{NotFound},
		},
		{
			Method: http.MethodGet, Path: "/v1/contracts/:name/targets", Name: "listTargets", Summary: "Which targets may stand in under the contract, and why not the others",
			Scope: scopeAny, Handle: s.listTargets, Answers: ok("TargetPage"), Problems: []Kind{NotFound},
		},
		{
			Method: http.MethodGet, Path: "/v1/certifications", Name: "listCertifications", Summary: "Certification records, newest first",
			Scope: scopeAny, Handle: s.listCertifications, Query: []string{"contract", "target", "limit", "cursor"}, Answers: ok("CertificationPage"),
		},
		{
			Method: http.MethodGet, Path: "/v1/certifications/:id", Name: "getCertification", Summary: "One certification record",
			Scope: scopeAny, Handle: s.getCertification, Answers: ok("Certification"), Problems: []Kind{NotFound},
		},
		{
			Method: http.MethodGet, Path: "/v1/certifications/:id/evidence", Name: "getEvidence", Summary: "Every exchange of the run that the record judges, without credentials",
			Scope: scopeAny, Handle: s.getEvidence, Answers: ok("Evidence"), Problems: []Kind{NotFound},
		},
		{
			Method: http.MethodPost, Path: "/v1/certifications/:id/revoke", Name: "revokeCertification", Summary: "Withdraw the proof that a record gives",
			Scope: store.ScopeOperator, Handle: s.revokeCertification, Body: "Revocation", Answers: ok("Certification"), Problems: []Kind{NotFound},
		},
	}
}

func (s *Server) openRoutes() []route {
	return []route{
		{Method: http.MethodGet, Path: "/healthz", Name: "health", Summary: "Whether the process answers", Handle: s.health, Answers: ok("Status")},
		{Method: http.MethodGet, Path: "/readyz", Name: "ready", Summary: "Whether the service takes work", Handle: s.ready, Answers: ok("Readiness"), Problems: []Kind{ShuttingDown}},
		{Method: http.MethodGet, Path: "/metrics", Name: "metrics", Summary: "How old the proofs of the routes are, for Prometheus", Handle: s.metrics, Answers: ok("")},
		{Method: http.MethodGet, Path: "/openapi.json", Name: "openapi", Summary: "This description", Handle: s.openapi, Answers: ok("")},
		{Method: http.MethodGet, Path: "/problems/", Name: "listProblems", Summary: "All problems", Handle: s.listProblems, Answers: ok("")},
		{Method: http.MethodGet, Path: "/problems/:name", Name: "getProblem", Summary: "What a problem means and what to do", Handle: s.getProblem, Answers: ok(""), Problems: []Kind{NotFound}},
	}
}

func ok(schema string) map[int]string { return map[int]string{http.StatusOK: schema} }
