package sqlcore

import (
	"context"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
)

// moveProof makes a judged record the one that counts, unless a stronger source stands. begun is when the
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
	if was != nil && strength[was.Source] > strength[r.Source] {
		return nil
	}
	var suspended time.Time
	if was != nil && r.Verdict == certification.Certified && begun.Before(was.SuspendedAt) {
		suspended = was.SuspendedAt
	}
	if _, err := tx.Exec(ctx, `INSERT INTO proofs (proof_digest, target, contract, certification_id, verdict, source, expires_at,
		suspended_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (proof_digest, target) DO UPDATE SET certification_id = excluded.certification_id, verdict = excluded.verdict,
		source = excluded.source, expires_at = excluded.expires_at, revoked_at = NULL, suspended_at = excluded.suspended_at,
		updated_at = excluded.updated_at`, r.ProofDigest, r.Target.String(), r.Contract, r.ID, string(r.Verdict), string(r.Source),
		at(r.ExpiresAt), at(suspended), at(r.IssuedAt)); err != nil {
		return err
	}
	return renewed(ctx, tx, was, r, begun, suspended)
}

// renewed notes what a new record that counts means for the one before it: that one is displaced and its
// window closed, and what was asked for is done. A run that had begun before its target was suspended shows nothing of the target
// since: its record is suspended as the one before it was, and the request stays open.
func renewed(ctx context.Context, tx Tx, was *certification.Proof, r certification.Record, begun, suspended time.Time) error {
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
	if suspended.IsZero() {
		return closeRequests(ctx, tx, r, begun)
	}
	_, err := appendEvent(ctx, tx, certification.Event{
		CertificationID: r.ID, Type: certification.EventSuspended, Cause: certification.CauseCarriedOver, By: was.CertificationID, At: r.IssuedAt,
		Detail: "its run had begun before certification " + was.CertificationID + " was suspended; only a run that begins after it ends that",
	})
	return err
}
