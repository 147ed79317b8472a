package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// Dispatcher makes, ends and watches attempts. *dispatch.Dispatcher is one.
type Dispatcher interface {
	// Submit: *dispatch.UnknownContract, *dispatch.UnknownTarget, *dispatch.InvalidInput,
	// *store.KeyConflict, dispatch.ErrShuttingDown.
	Submit(ctx context.Context, submission dispatch.Submission) (store.Made, error)
	// AddAttempt: *dispatch.UnknownTarget, dispatch.ErrShuttingDown, and what store.Jobs.AddAttempt says.
	AddAttempt(ctx context.Context, owner, jobID, key, target string) (store.Made, error)
	// Resolve, Release and CancelAttempt: *store.IllegalTransition, store.ErrNotFound; Resolve also
	// *dispatch.InvalidInput, for a result that is not what the contract asks.
	Resolve(ctx context.Context, ref job.Ref, resolution dispatch.Resolution) (job.Attempt, error)
	Release(ctx context.Context, ref job.Ref, by, note string) (job.Attempt, error)
	CancelAttempt(ctx context.Context, ref job.Ref, by, note string) (job.Attempt, error)
	// CancelJob: store.ErrJobFinal, store.ErrNotFound.
	CancelJob(ctx context.Context, owner, jobID, by string) (job.Job, error)
	// Wait returns when the job's outcome is known or ctx ends, with the job as it then is.
	Wait(ctx context.Context, owner, jobID string) (job.Job, error)
	// Follow returns what happened to a job behind the event with the number after, once there is something
	// or nothing more can come, and nothing when ctx ends. store.ErrNotFound.
	Follow(ctx context.Context, owner, jobID string, after int64) (store.History, error)
	// Watching is nil while what other replicas do is known here at once.
	Watching() error
	// Targets: *dispatch.UnknownContract.
	Targets(ctx context.Context, contract string) ([]failover.TargetStatus, error)
	// Proofs are what is known of the proofs that the routes rest on.
	Proofs(ctx context.Context) ([]certification.Standing, error)
}

// endDoubt is Release or CancelAttempt.
type endDoubt func(ctx context.Context, ref job.Ref, by, note string) (job.Attempt, error)

// Store is what the API reads by itself; store.Store is one.
type Store interface {
	KeyFinder
	Job(ctx context.Context, owner, jobID string) (job.Job, error)
	ListJobs(ctx context.Context, filter store.JobFilter) (items []job.Job, next string, err error)
	Doubts(ctx context.Context, owner string) (store.Doubts, error)
	Attempt(ctx context.Context, ref job.Ref) (job.Attempt, error)
	Attempts(ctx context.Context, owner, jobID string) ([]job.Attempt, error)
	Events(ctx context.Context, owner, jobID string, after int64) (store.History, error)
	Record(ctx context.Context, id string) (store.StoredRecord, error)
	Evidence(ctx context.Context, id string) (evidence.Packed, error)
	Records(ctx context.Context, filter store.RecordFilter) (items []store.StoredRecord, next string, err error)
	Revoke(ctx context.Context, id, reason, by string) (store.StoredRecord, error)
	Ping(ctx context.Context) error
}

// Options are what a Server is made of.
type Options struct {
	Dispatcher Dispatcher
	Store      Store
	Config     *config.Config
	Logger     *slog.Logger // nil = silent
	Version    string       // of the program, for /openapi.json

	// StoreTimeout bounds each call to Store, apart from what a Dispatcher makes of it; 0 = 5 s. A request
	// that the store leaves without an answer is answered store-unavailable.
	StoreTimeout time.Duration
	// Heartbeat is after how long a silent stream of events says that it is still there; 0 = 15 s.
	Heartbeat time.Duration
	// StreamTimeout is how long a stream waits for a client that reads nothing of it; 0 = 10 s.
	StreamTimeout time.Duration
}

// pingTimeout bounds the question whether the store is there.
const pingTimeout = 2 * time.Second

// Server is the API as an http.Handler.
type Server struct {
	dispatcher Dispatcher
	store      bounded
	config     *config.Config
	logger     *slog.Logger
	version    string
	heartbeat  time.Duration
	unread     time.Duration // how long a stream's client may leave it so
	engine     *gin.Engine
	draining   context.Context // ends when the service shuts down
	drain      context.CancelFunc
}

// New builds the routes.
func New(options Options) *Server {
	s := &Server{
		dispatcher: options.Dispatcher, config: options.Config,
		store:  bounded{options.Store, cmp.Or(options.StoreTimeout, defaultStoreTimeout)},
		logger: options.Logger, version: options.Version,
		heartbeat: cmp.Or(options.Heartbeat, defaultHeartbeat), unread: cmp.Or(options.StreamTimeout, defaultStreamTimeout),
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	s.draining, s.drain = context.WithCancel(context.Background())
	s.engine = s.newEngine()
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	s.engine.ServeHTTP(w, request)
}

// Drain ends every Prefer: wait and every stream of events, and makes /readyz say no, so that a load balancer sends new work
// elsewhere while what was accepted is finished.
func (s *Server) Drain() { s.drain() }

func (s *Server) newEngine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false
	engine.UseRawPath = true // a %2F stays inside its part of the path
	engine.Use(s.observe)
	engine.NoRoute(s.failing(newProblem(NotFound, "no such address")))
	engine.NoMethod(s.failing(newProblem(MethodNotAllowed, "")))
	for _, r := range s.routes() {
		engine.Handle(r.Method, r.Path, s.handler(r))
	}
	return engine
}

func (s *Server) failing(p *problem) gin.HandlerFunc { return func(c *gin.Context) { s.fail(c, p) } }

// handler is where a route's errors, and nothing else, become answers.
func (s *Server) handler(r route) gin.HandlerFunc {
	authenticate := authenticate(s.store)
	return func(c *gin.Context) {
		if r.Scope != scopeOpen {
			if err := authenticate(c); err != nil {
				s.fail(c, err)
				return
			}
		}
		if r.Scope != scopeOpen && r.Scope != scopeAny {
			if err := demand(r.Scope, identity(c)); err != nil {
				s.fail(c, err)
				return
			}
		}
		if err := r.Handle(c); err != nil {
			s.fail(c, err)
		}
	}
}

func (s *Server) fail(c *gin.Context, err error) {
	p := translate(c.Request.Context(), err, s.store.Ping)
	if entryOf[p.Kind].Status >= http.StatusInternalServerError {
		s.logger.Log(c.Request.Context(), severity(c.Request.Context(), p), "request failed", "error", err, "problem", p.Kind, "method", c.Request.Method,
			"route", c.FullPath(), "instance", instanceOf(c))
	}
	p.write(c)
}

// severity of a failure: nobody needs to look at what a shutdown refuses, nor at a client that left.
func severity(ctx context.Context, p *problem) slog.Level {
	if p.Kind == ShuttingDown || ctx.Err() != nil {
		return slog.LevelInfo
	}
	return slog.LevelError
}

func (s *Server) body(c *gin.Context, optional bool, allowed ...string) (body, error) {
	return readBody(c.Writer, c.Request, s.config.Server.MaxBodyBytes, optional, allowed...)
}

func answer(c *gin.Context, status int, v any) {
	c.Header("Cache-Control", "no-store")
	c.Data(status, "application/json", encode(v))
}

// answerMade tells what was created from what had been created before.
func answerMade(c *gin.Context, created bool, location string, v any) {
	c.Header("Location", location)
	if created {
		answer(c, http.StatusCreated, v)
		return
	}
	c.Header(replayedHeader, "true")
	answer(c, http.StatusOK, v)
}
