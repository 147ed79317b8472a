package sqlcore

import (
	"context"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/service/drift"
)

// TendProofs implements store.Certifications. Each proof is a transaction of its own.
func (c *Core) TendProofs(ctx context.Context, keys []certification.Key, by string) ([]certification.Event, error) {
	var noted []certification.Event
	for _, key := range keys {
		events, err := write(ctx, c, func(tx Tx) ([]certification.Event, error) { return c.tend(ctx, tx, key, by) })
		if err != nil {
			return noted, err
		}
		noted = append(noted, events...)
	}
	return noted, nil
}

func (c *Core) tend(ctx context.Context, tx Tx, key certification.Key, by string) ([]certification.Event, error) {
	now, err := c.now(ctx, tx)
	if err != nil {
		return nil, err
	}
	standing, err := standingOf(ctx, tx, key, "", now)
	if err != nil || standing.Proof == nil {
		return nil, err
	}
	proof := *standing.Proof
	if err := forget(ctx, tx, proof); err != nil {
		return nil, err
	}
	if proof.Verdict != certification.Certified || !proof.RevokedAt.IsZero() || !proof.SuspendedAt.IsZero() {
		return nil, nil
	}
	event, due := expiry(proof, now)
	if !due {
		return nil, nil
	}
	event.By = by
	return noteAndRequest(ctx, tx, key, event)
}

// expiry is what is to be noted about the end of a proof's validity by now.
func expiry(proof certification.Proof, now time.Time) (certification.Event, bool) {
	event := certification.Event{CertificationID: proof.CertificationID, At: now}
	switch {
	case !now.Before(proof.ExpiresAt):
		event.Type, event.Detail = certification.EventExpired, "it was valid until "+formatted(proof.ExpiresAt)
	case !now.Before(certification.ExpiringFrom(proof.IssuedAt, proof.ExpiresAt)):
		event.Type, event.Detail = certification.EventExpiring, "it is valid until "+formatted(proof.ExpiresAt)
	default:
		return event, false
	}
	return event, true
}

// forget deletes the outcomes that no window reaches any more. Those of a displaced record go with it.
func forget(ctx context.Context, tx Tx, proof certification.Proof) error {
	_, err := tx.Exec(ctx, `DELETE FROM certification_outcomes WHERE certification_id = $1 AND at < (
		SELECT at FROM certification_outcomes WHERE certification_id = $1 ORDER BY at DESC LIMIT 1 OFFSET $2)`,
		proof.CertificationID, drift.MostWindow-1)
	return err
}
