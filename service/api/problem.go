package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Kind is a problem's name; its type is /problems/NAME.
type Kind string

// The problems that this service can answer with. The words are part of the API.
const (
	MalformedBody         Kind = "malformed-body"
	KeyMissing            Kind = "idempotency-key-missing"
	KeyInvalid            Kind = "idempotency-key-invalid"
	InvalidParameter      Kind = "invalid-parameter"
	Unauthorized          Kind = "unauthorized"
	Forbidden             Kind = "forbidden"
	NotFound              Kind = "not-found"
	MethodNotAllowed      Kind = "method-not-allowed"
	KeyConflict           Kind = "idempotency-key-conflict"
	AttemptInFlight       Kind = "attempt-in-flight"
	AttemptInDoubt        Kind = "attempt-in-doubt"
	JobFinal              Kind = "job-final"
	JobPurged             Kind = "job-purged"
	FallbackNotCertified  Kind = "fallback-not-certified"
	AttemptsExhausted     Kind = "attempts-exhausted"
	IllegalTransition     Kind = "illegal-transition"
	BodyTooLarge          Kind = "body-too-large"
	UnsupportedMediaType  Kind = "unsupported-media-type"
	UnknownContract       Kind = "unknown-contract"
	UnknownTarget         Kind = "unknown-target"
	InvalidInput          Kind = "invalid-input"
	InternalError         Kind = "internal-error"
	StoreUnavailable      Kind = "store-unavailable"
	ShuttingDown          Kind = "shutting-down"
	problemContentType         = "application/problem+json"
	defaultRetryAfter          = time.Second
	shutdownRetryAfter         = 5 * time.Second
	problemPathPrefix          = "/problems/"
	authenticateChallenge      = `Bearer realm="fallproof"`
)

// entry is what is the same in every problem of a kind.
type entry struct {
	Kind   Kind
	Title  string
	Status int
	Do     string // what whoever meets it can do
}

// entries is the whole list; /problems/ prints it.
var entries = []entry{
	{MalformedBody, "The body is not what this request takes", http.StatusBadRequest,
		"Send one JSON object with the documented fields. `pointer` says where the fault is and `offset` at which byte. Nothing was stored and the idempotency key stays usable."},
	{KeyMissing, "The Idempotency-Key header is missing", http.StatusBadRequest,
		"Make one key per intent (a UUID, or an order number of yours), keep it, and send it again whenever you repeat the request."},
	{KeyInvalid, "The Idempotency-Key header is not usable", http.StatusBadRequest,
		"Send exactly one header with 1 to 255 visible ASCII characters, bare or as a quoted string."},
	{InvalidParameter, "A parameter of the address is not possible", http.StatusBadRequest,
		"Correct the parameter that the detail names."},
	{Unauthorized, "A valid API key is required", http.StatusUnauthorized,
		"Send `Authorization: Bearer KEY`. `fallproof keys create` makes a key; a revoked one is gone for good."},
	{Forbidden, "The API key lacks the scope for this", http.StatusForbidden,
		"Use a key with the scope that the detail names."},
	{NotFound, "There is no such thing", http.StatusNotFound,
		"Check the address. What belongs to another owner is not found either."},
	{MethodNotAllowed, "The address does not take this method", http.StatusMethodNotAllowed,
		"Use one of the methods in the Allow header."},
	{KeyConflict, "The idempotency key already names another intent", http.StatusConflict,
		"`pointers` says where the two differ, unless the job was purged. If the difference is meant, it is another intent: use a new key. Nothing was created."},
	{AttemptInFlight, "An attempt of this job is under way", http.StatusConflict,
		"Wait for the `blocking` attempt, or cancel it. Nothing was created."},
	{AttemptInDoubt, "An attempt of this job is in doubt", http.StatusConflict,
		"The `blocking` attempt may or may not have taken effect. Find out at its provider, then resolve it; or release or cancel it. Nothing was created."},
	{JobFinal, "The job is final", http.StatusConflict,
		"Read the job: it is succeeded or cancelled, and nothing can change it. For another answer make another job under another key."},
	{JobPurged, "The job was purged", http.StatusGone,
		"Its time of retention is over: what it was asked and what it answered are gone, and its idempotency key stays taken. If the intent stands again, it is another one: use a new key. Nothing was created."},
	{FallbackNotCertified, "The target has no standing proof for this contract", http.StatusConflict,
		"`reasons` says why. `fallproof can-failover` names the command that would change it. Nothing was created."},
	{AttemptsExhausted, "The job has no attempts left", http.StatusConflict,
		"The cap on attempts of the job's route is reached. Make another job under another key if the intent still stands."},
	{IllegalTransition, "The attempt's state does not allow this", http.StatusConflict,
		"`state` is the attempt's state now. Nothing was changed."},
	{BodyTooLarge, "The body is too large", http.StatusRequestEntityTooLarge,
		"Send less, or raise server.max_body in the configuration."},
	{UnsupportedMediaType, "The body is not JSON", http.StatusUnsupportedMediaType,
		"Send `Content-Type: application/json`, uncompressed, in UTF-8."},
	{UnknownContract, "There is no such contract", http.StatusUnprocessableEntity,
		"GET /v1/contracts lists the contracts. Nothing was stored."},
	{UnknownTarget, "There is no such target", http.StatusUnprocessableEntity,
		"GET /v1/contracts/NAME/targets lists the targets. Without `target` the contract's route decides, if it has one. Nothing was stored."},
	{InvalidInput, "The contract cannot take this", http.StatusUnprocessableEntity,
		"`pointers` and the detail say what is missing or wrong. Nothing was stored."},
	{InternalError, "The service failed", http.StatusInternalServerError,
		"Repeat the request with the same idempotency key: it cannot take effect twice. `instance` finds the failure in the service's log."},
	{StoreUnavailable, "The database cannot be reached", http.StatusServiceUnavailable,
		"Repeat the request with the same idempotency key after Retry-After: it cannot take effect twice."},
	{ShuttingDown, "The service is shutting down", http.StatusServiceUnavailable,
		"Repeat the request with the same idempotency key after Retry-After; another replica answers."},
}

var entryOf = func() map[Kind]entry {
	byKind := make(map[Kind]entry, len(entries))
	for _, e := range entries {
		byKind[e.Kind] = e
	}
	return byKind
}()

// problem is one occurrence. It is an error, so that handlers return it like any other.
type problem struct {
	Kind       Kind
	Detail     string
	Extra      map[string]any // members beyond those of RFC 9457
	RetryAfter time.Duration
	Header     http.Header
}

func (p *problem) Error() string { return string(p.Kind) + ": " + p.Detail }

func newProblem(kind Kind, detail string) *problem { return &problem{Kind: kind, Detail: detail} }

// with adds an extension member.
func (p *problem) with(name string, value any) *problem {
	if p.Extra == nil {
		p.Extra = map[string]any{}
	}
	p.Extra[name] = value
	return p
}

// document is the problem as its JSON says it.
func (p *problem) document(instance string) map[string]any {
	e := entryOf[p.Kind]
	document := map[string]any{"type": problemPathPrefix + string(p.Kind), "title": e.Title, "status": e.Status}
	if p.Detail != "" {
		document["detail"] = p.Detail
	}
	if instance != "" {
		document["instance"] = instance
	}
	for name, value := range p.Extra {
		document[name] = value
	}
	return document
}

// write answers with the problem and ends the request.
func (p *problem) write(c *gin.Context) {
	for name, values := range p.Header {
		c.Writer.Header()[name] = values
	}
	if p.RetryAfter > 0 {
		seconds := (p.RetryAfter + time.Second - 1) / time.Second
		c.Header("Retry-After", strconv.Itoa(int(seconds)))
	}
	c.Header("Cache-Control", "no-store")
	c.Abort()
	c.Data(entryOf[p.Kind].Status, problemContentType, encode(p.document(instanceOf(c))))
}

// encode writes JSON. Raw values in it keep their numbers and strings as they are, whatever a stricter
// reader would say about them: they were judged when they were accepted.
func encode(v any) []byte {
	encoded, err := json.Marshal(v, json.Deterministic(true), jsontext.PreserveRawStrings(true),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil { // unreachable: only types of this package and stored JSON come here
		panic(err)
	}
	return encoded
}
