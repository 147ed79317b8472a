package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

const (
	jobsPath       = "/v1/jobs"
	replayedHeader = "Idempotency-Replayed"
)

func (s *Server) createJob(c *gin.Context) error {
	key, err := idempotencyKey(c.Request.Header)
	if err != nil {
		return err
	}
	submission, err := s.readSubmission(c)
	if err != nil {
		return err
	}
	submission.Owner, submission.IdempotencyKey = identity(c).Owner, key
	ctx, cancel := mutation(c)
	defer cancel()
	made, err := s.dispatcher.Submit(ctx, submission)
	if err != nil {
		return err
	}
	answerMade(c, made.Created, jobPath(made.Job.ID), s.describeMade(c, made))
	return nil
}

// describeMade is the job as it stands when the client's wait is over. The job is accepted: whatever cannot be
// read about it now does not take that back.
func (s *Server) describeMade(c *gin.Context, made store.Made) jobDetail {
	if made.Created && made.Attempt != nil && preferredWait(c.Request.Header) == 0 {
		return viewDetail(made.Job, []job.Attempt{*made.Attempt})
	}
	awaited := s.await(c, made.Job)
	detail, err := s.detail(c.Request.Context(), awaited)
	if err != nil {
		return jobDetail{jobView: viewJob(awaited)}
	}
	return detail
}

func (s *Server) readSubmission(c *gin.Context) (dispatch.Submission, error) {
	b, err := s.body(c, false, "contract", "input", "target", "metadata")
	if err != nil {
		return dispatch.Submission{}, err
	}
	var submission dispatch.Submission
	if submission.Contract, err = b.requiredText("contract"); err != nil {
		return submission, err
	}
	if !b.has("input") {
		return submission, malformed("input", "is missing")
	}
	if submission.Input, submission.InputText, err = b.object("input"); err != nil {
		return submission, err
	}
	if submission.Target, err = b.text("target"); err != nil {
		return submission, err
	}
	if b.has("metadata") {
		_, submission.Metadata, err = b.object("metadata")
	}
	return submission, err
}

func (s *Server) getJob(c *gin.Context) error {
	found, err := s.findJob(c)
	if err != nil {
		return err
	}
	detail, err := s.detail(c.Request.Context(), s.await(c, found))
	if err != nil {
		return err
	}
	answer(c, http.StatusOK, detail)
	return nil
}

func (s *Server) findJob(c *gin.Context) (job.Job, error) {
	id, err := pathID(c, "job")
	if err != nil {
		return job.Job{}, err
	}
	return s.store.Job(c.Request.Context(), identity(c).Owner, id)
}

// await holds the answer back as the client prefers, until the job's outcome is known. Whatever happens
// meanwhile, the job itself stands: the answer is then what was known before.
func (s *Server) await(c *gin.Context, current job.Job) job.Job {
	wait := preferredWait(c.Request.Header)
	if wait == 0 {
		return current
	}
	markWaited(c.Writer.Header(), wait)
	ctx, cancel := context.WithTimeout(c.Request.Context(), wait)
	defer cancel()
	defer context.AfterFunc(s.draining, cancel)()
	if waited, err := s.dispatcher.Wait(ctx, current.Owner, current.ID); err == nil {
		return waited
	}
	return current
}

func (s *Server) listJobs(c *gin.Context) error {
	parameters, err := query(c.Request, "state", "contract", "limit", "cursor")
	if err != nil {
		return err
	}
	filter := store.JobFilter{
		Owner: identity(c).Owner, Contract: parameters["contract"],
		State: job.JobState(parameters["state"]),
	}
	if filter.State != "" && !slices.Contains(job.JobStates, filter.State) {
		return badParameter("state", "is none of pending, running, unknown, succeeded, failed, cancelled")
	}
	if filter.Limit, err = limit(parameters); err != nil {
		return err
	}
	if filter.Cursor, err = cursor(parameters, filter.State == job.JobUnknown); err != nil {
		return err
	}
	items, next, err := s.store.ListJobs(c.Request.Context(), filter)
	if err != nil {
		return err
	}
	if filter.State == job.JobUnknown {
		queue, err := s.listDoubts(c.Request.Context(), filter.Owner, items, next)
		if err != nil {
			return err
		}
		answer(c, http.StatusOK, queue)
		return nil
	}
	answer(c, http.StatusOK, pageOf(items, next, viewJob))
	return nil
}

func (s *Server) cancelJob(c *gin.Context) error {
	id, err := pathID(c, "job")
	if err != nil {
		return err
	}
	if _, err := s.body(c, true); err != nil {
		return err
	}
	ctx, cancel := mutation(c)
	defer cancel()
	cancelled, err := s.dispatcher.CancelJob(ctx, identity(c).Owner, id, by(c))
	if err != nil {
		return err
	}
	answer(c, http.StatusOK, viewJob(cancelled))
	return nil
}

func jobPath(id string) string { return jobsPath + "/" + id }

func attemptPath(ref job.Ref) string {
	return jobPath(ref.JobID) + "/attempts/" + strconv.Itoa(ref.Number)
}

// mutationTimeout bounds what is read before a change; the dispatcher bounds the change itself.
const mutationTimeout = 10 * time.Second

// mutation is a context for a change: a client that goes away changes nothing about it.
func mutation(c *gin.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.Request.Context()), mutationTimeout)
}
