package sqlcore

import (
	"context"
	"errors"
	"sync"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/service/drift"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// shownAttempts is how many attempts an event names as its grounds.
const shownAttempts = 20

// certifiedSet remembers what answered while a record was made. Records never change.
type certifiedSet struct{ known sync.Map }

// watch holds the answer that ended an attempt against its target's proof. It comes before the job's next
// step, which must not go where the answer has just shown not to.
func (m *move) watch(ctx context.Context, ended job.Attempt) error {
	watch, answer := m.change.Watch, m.change.Answer
	if watch == nil || watch.Settings.Off || answer == nil || !ended.FinishedAt.Equal(m.now) {
		return nil
	}
	id, err := m.provenBy(ctx, ended)
	if err != nil || id == "" {
		return err
	}
	certified, err := m.core.certifiedAs(ctx, m.tx, id)
	if err != nil {
		return err
	}
	if watch.Judged {
		if err := m.keepOutcome(ctx, ended, id); err != nil {
			return err
		}
	}
	found := drift.Single(certified, drift.Answer{
		ServedModel: plain(answer.ServedModel), SystemPrint: plain(answer.SystemPrint), Judged: watch.Judged,
	})
	switch {
	case found.Suspends || watch.Violated:
		return m.suspect(ctx, ended, id, found)
	case found.Cause != "":
		return m.warn(ctx, id, found)
	}
	return nil
}

// provenBy is the record that stood for the attempt's target when it was sent, and still does; "" where
// there is none. What was sent before a record was issued says nothing about it.
func (m *move) provenBy(ctx context.Context, ended job.Attempt) (string, error) {
	id, err := one(ctx, m.tx, scanText, `SELECT p.certification_id FROM proofs p JOIN certification_records r ON r.id = p.certification_id
		WHERE p.proof_digest = $1 AND p.target = $2 AND p.verdict = 'certified' AND p.revoked_at IS NULL AND p.suspended_at IS NULL
		AND p.expires_at > $3 AND r.issued_at <= $4`,
		m.change.Watch.Proof.ProofDigest, ended.Target.String(), at(m.now), at(ended.StartedAt))
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return id, err
}

func scanText(rows Rows) (string, error) {
	var text string
	err := rows.Scan(&text)
	return text, err
}

func (c *Core) certifiedAs(ctx context.Context, tx Tx, id string) (drift.Certified, error) {
	if known, ok := c.certified.known.Load(id); ok {
		return known.(drift.Certified), nil
	}
	record, err := selectRecord(ctx, tx, id)
	if err != nil {
		return drift.Certified{}, err
	}
	certified := drift.Certified{ServedModels: record.ServedModels, Fingerprints: record.Fingerprints}
	c.certified.known.Store(id, certified)
	return certified, nil
}

func (m *move) keepOutcome(ctx context.Context, ended job.Attempt, id string) error {
	violated := 0
	if m.change.Watch.Violated {
		violated = 1
	}
	_, err := m.tx.Exec(ctx, `INSERT INTO certification_outcomes (certification_id, at, attempt_id, owner_id, job_id, number, violated)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, id, at(m.now), ended.ID, ended.Owner, ended.JobID, ended.Number, violated)
	return err
}

// suspect decides whether the proof is suspended, one at a time for all answers of all replicas: who comes
// later counts what those before have committed. The proof must still be the one that the answer is about.
func (m *move) suspect(ctx context.Context, ended job.Attempt, id string, found drift.Finding) error {
	if err := m.core.lockProofs(ctx, m.tx); err != nil {
		return err
	}
	grounds := certification.Grounds{Attempts: []certification.AttemptRef{{
		Owner: ended.Owner, JobID: ended.JobID, Number: ended.Number, ID: ended.ID,
	}}}
	if !found.Suspends {
		var err error
		if found, grounds, err = m.judgeWindow(ctx, id); err != nil || found.Cause == "" {
			return err
		}
	}
	rows, err := m.tx.Exec(ctx, `UPDATE proofs SET suspended_at = $4, updated_at = $4 WHERE proof_digest = $1 AND target = $2
		AND certification_id = $3 AND revoked_at IS NULL AND suspended_at IS NULL`,
		m.change.Watch.Proof.ProofDigest, ended.Target.String(), id, at(m.now))
	if err != nil || rows == 0 {
		return err
	}
	return m.noteDrift(ctx, certification.Event{
		CertificationID: id, Type: certification.EventSuspended, Cause: found.Cause, Detail: found.Detail, By: m.change.By,
		Grounds: &grounds, At: m.now,
	})
}

// judgeWindow counts the proof's last outcomes, and names the latest violations among them.
func (m *move) judgeWindow(ctx context.Context, id string) (drift.Finding, certification.Grounds, error) {
	const last = "(SELECT * FROM certification_outcomes WHERE certification_id = $1 ORDER BY at DESC, attempt_id DESC LIMIT $2) AS w"
	window, err := one(ctx, m.tx, func(rows Rows) (drift.Window, error) {
		var w drift.Window
		err := rows.Scan(&w.Answers, &w.Violations)
		return w, err
	}, "SELECT COUNT(*), COALESCE(SUM(violated), 0) FROM "+last, id, m.change.Watch.Settings.Window)
	if err != nil {
		return drift.Finding{}, certification.Grounds{}, err
	}
	found := m.change.Watch.Settings.Judge(window)
	if found.Cause == "" {
		return found, certification.Grounds{}, nil
	}
	attempts, err := collect(ctx, m.tx, func(rows Rows) (certification.AttemptRef, error) {
		var ref certification.AttemptRef
		err := rows.Scan(&ref.Owner, &ref.JobID, &ref.Number, &ref.ID)
		return ref, err
	}, "SELECT owner_id, job_id, number, attempt_id FROM "+last+" WHERE violated = 1 ORDER BY at DESC, attempt_id DESC LIMIT $3",
		id, m.change.Watch.Settings.Window, shownAttempts)
	return found, certification.Grounds{Answers: window.Answers, Violations: window.Violations, Attempts: attempts}, err
}

// warn notes what suspends nothing.
func (m *move) warn(ctx context.Context, id string, found drift.Finding) error {
	return m.noteDrift(ctx, certification.Event{
		CertificationID: id, Type: certification.EventFingerprint, Cause: found.Cause, Detail: found.Detail, By: m.change.By, At: m.now,
	})
}

// noteDrift keeps an event, and asks for a re-certification, the first time that it happens to the record.
func (m *move) noteDrift(ctx context.Context, event certification.Event) error {
	noted, err := noteAndRequest(ctx, m.tx, m.change.Watch.Proof, event)
	m.drift = append(m.drift, noted...)
	return err
}

func noteAndRequest(ctx context.Context, tx Tx, key certification.Key, event certification.Event) ([]certification.Event, error) {
	first, err := appendEvent(ctx, tx, event)
	if err != nil || !first {
		return nil, err
	}
	requested, err := requestCertification(ctx, tx, key, event)
	return append([]certification.Event{event}, requested...), err
}
