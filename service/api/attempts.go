package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
)

func (s *Server) listAttempts(c *gin.Context) error {
	id, err := pathID(c, "job")
	if err != nil {
		return err
	}
	attempts, err := s.store.Attempts(c.Request.Context(), identity(c).Owner, id)
	if err != nil {
		return err
	}
	answer(c, http.StatusOK, pageOf(attempts, "", viewAttempt))
	return nil
}

func (s *Server) getAttempt(c *gin.Context) error {
	ref, err := pathRef(c)
	if err != nil {
		return err
	}
	attempt, err := s.store.Attempt(c.Request.Context(), ref)
	if err != nil {
		return err
	}
	answer(c, http.StatusOK, viewAttempt(attempt))
	return nil
}

func (s *Server) createAttempt(c *gin.Context) error {
	id, err := pathID(c, "job")
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c.Request.Header)
	if err != nil {
		return err
	}
	b, err := s.body(c, true, "target")
	if err != nil {
		return err
	}
	target, err := b.text("target")
	if err != nil {
		return err
	}
	ctx, cancel := mutation(c)
	defer cancel()
	made, err := s.dispatcher.AddAttempt(ctx, identity(c).Owner, id, key, target)
	if err != nil {
		return err
	}
	attempt := s.awaitAttempt(c, made.Job, *made.Attempt)
	answerMade(c, made.Created, attemptPath(attempt.Ref), viewAttempt(attempt))
	return nil
}

// awaitAttempt is await for the attempt that was asked for.
func (s *Server) awaitAttempt(c *gin.Context, of job.Job, current job.Attempt) job.Attempt {
	if preferredWait(c.Request.Header) == 0 {
		return current
	}
	s.await(c, of)
	if waited, err := s.store.Attempt(c.Request.Context(), current.Ref); err == nil {
		return waited
	}
	return current
}

// Outcomes that an operator may resolve an attempt with.
const (
	outcomeFailed    = "failed"
	outcomeSucceeded = "succeeded"
)

func (s *Server) resolveAttempt(c *gin.Context) error {
	ref, err := pathRef(c)
	if err != nil {
		return err
	}
	b, err := s.body(c, false, "outcome", "result", "note")
	if err != nil {
		return err
	}
	resolution, err := readResolution(b)
	if err != nil {
		return err
	}
	resolution.By = by(c)
	ctx, cancel := mutation(c)
	defer cancel()
	attempt, err := s.dispatcher.Resolve(ctx, ref, resolution)
	if err != nil {
		return err
	}
	answer(c, http.StatusOK, viewAttempt(attempt))
	return nil
}

func readResolution(b body) (dispatch.Resolution, error) {
	var resolution dispatch.Resolution
	outcome, err := b.requiredText("outcome")
	if err != nil {
		return resolution, err
	}
	switch outcome {
	case outcomeFailed:
		if b.has("result") {
			return resolution, malformed("result", "a failed attempt has no result")
		}
	case outcomeSucceeded:
		if !b.has("result") {
			return resolution, malformed("result", "is missing: what the attempt's answer was")
		}
	default:
		return resolution, malformed("outcome", "want failed or succeeded")
	}
	note, err := b.requiredText("note")
	return dispatch.Resolution{Outcome: outcome, Result: string(b.raw["result"]), Note: note}, err
}

func (s *Server) releaseAttempt(c *gin.Context) error { return s.endDoubt(c, s.dispatcher.Release) }

func (s *Server) cancelAttempt(c *gin.Context) error {
	return s.endDoubt(c, s.dispatcher.CancelAttempt)
}

func (s *Server) endDoubt(c *gin.Context, end endDoubt) error {
	ref, err := pathRef(c)
	if err != nil {
		return err
	}
	b, err := s.body(c, true, "note")
	if err != nil {
		return err
	}
	note, err := b.text("note")
	if err != nil {
		return err
	}
	ctx, cancel := mutation(c)
	defer cancel()
	attempt, err := end(ctx, ref, by(c), note)
	if err != nil {
		return err
	}
	answer(c, http.StatusOK, viewAttempt(attempt))
	return nil
}
