package sqlcore

import (
	"context"
	"fmt"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
)

// moveProof makes a judged record the one that counts, unless it is outranked. begun is when the
// record's run was opened.
func (c *Core) moveProof(ctx context.Context, tx Tx, r certification.Record, begun time.Time) error {
	if err := c.lockProofs(ctx, tx); err != nil {
		return err
	}
	key := certification.Key{Contract: r.Contract, Target: r.Target, ProofDigest: r.ProofDigest}
	standing, err := standingOf(ctx, tx, key, c.engine.Dialect().ForUpdate, r.IssuedAt)
	if err != nil {
		return err
	}
	was := standing.Proof
	if was != nil && was.Outranks(r.Source) {
		return nil
	}
	ended := certification.Event{}
	if r.Verdict == certification.Certified {
		if ended, err = endedSince(ctx, tx, r, begun); err != nil {
			return err
		}
	}
	if !ended.At.IsZero() && (was.SuspendedAt.IsZero() || !was.RevokedAt.IsZero()) {
		return outdated(ctx, tx, r, ended) // a revocation stays, and so does what was judged by a run that began after the end
	}
	if _, err := tx.Exec(ctx, `INSERT INTO proofs (proof_digest, target, contract, certification_id, verdict, source, expires_at,
		suspended_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (proof_digest, target) DO UPDATE SET certification_id = excluded.certification_id, verdict = excluded.verdict,
		source = excluded.source, expires_at = excluded.expires_at, revoked_at = NULL, suspended_at = excluded.suspended_at,
		updated_at = excluded.updated_at`, r.ProofDigest, r.Target.String(), r.Contract, r.ID, string(r.Verdict), string(r.Source),
		at(r.ExpiresAt), at(ended.At), at(r.IssuedAt)); err != nil {
		return err
	}
	return renewed(ctx, tx, was, r, ended)
}

// endedSince is the last suspension or revocation of a proof after a moment, whichever of its records had it; the zero
// Event where there was none. What a record took over is no new one.
func endedSince(ctx context.Context, tx Tx, r certification.Record, moment time.Time) (certification.Event, error) {
	found, err := collect(ctx, tx, func(rows Rows) (certification.Event, error) {
		var event certification.Event
		var when stamp
		err := rows.Scan(&event.CertificationID, &event.Type, &when)
		event.At = when.Time
		return event, err
	}, `WITH ended AS (SELECT certification_id, type, at FROM certification_events WHERE type = 'suspended' AND cause <> $4
		UNION ALL SELECT certification_id, 'revoked', revoked_at FROM certification_revocations)
		SELECT e.certification_id, e.type, e.at FROM ended e JOIN certification_records r ON r.id = e.certification_id
		WHERE r.proof_digest = $1 AND r.target = $2 AND e.at > $3 ORDER BY e.at DESC LIMIT 1`,
		r.ProofDigest, r.Target.String(), at(moment), certification.CauseCarriedOver)
	if err != nil || len(found) == 0 {
		return certification.Event{}, err
	}
	return found[0], nil
}

// renewed notes what a new record that counts means for the one before it: that one is displaced and its
// window closed, and what was asked for is done. A run that had begun before the proof was suspended or revoked shows
// nothing of the target since: its record is suspended from then on, and the request stays open.
func renewed(ctx context.Context, tx Tx, was *certification.Proof, r certification.Record, ended certification.Event) error {
	if was != nil {
		if _, err := appendEvent(ctx, tx, certification.Event{
			CertificationID: was.CertificationID, Type: certification.EventDisplaced, Cause: string(r.Verdict), By: r.ID, At: r.IssuedAt,
		}); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM certification_outcomes WHERE certification_id = $1", was.CertificationID); err != nil {
			return err
		}
	}
	if ended.At.IsZero() {
		return closeRequest(ctx, tx, r)
	}
	return outdated(ctx, tx, r, ended)
}

// outdated notes that a record says nothing of its target since the proof ended.
func outdated(ctx context.Context, tx Tx, r certification.Record, ended certification.Event) error {
	_, err := appendEvent(ctx, tx, certification.Event{
		CertificationID: r.ID, Type: certification.EventSuspended, Cause: certification.CauseCarriedOver, By: ended.CertificationID, At: r.IssuedAt,
		Detail: fmt.Sprintf("its run had begun before certification %s was %s; only a run that begins after it ends that", ended.CertificationID, ended.Type),
	})
	return err
}
