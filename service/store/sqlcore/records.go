package sqlcore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/store"
)

const recordQuery = `SELECT r.document, v.revoked_at, COALESCE(v.reason, ''), COALESCE(v.revoked_by, '')
	FROM certification_records r LEFT JOIN certification_revocations v ON v.certification_id = r.id`

func scanRecord(rows Rows) (store.StoredRecord, error) {
	var (
		record   store.StoredRecord
		document string
		revoked  stamp
	)
	if err := rows.Scan(&document, &revoked, &record.RevokedReason, &record.RevokedBy); err != nil {
		return record, err
	}
	record.RevokedAt = revoked.Time
	return record, decoded(document, &record.Record)
}

// Record implements store.Certifications.
func (c *Core) Record(ctx context.Context, id string) (store.StoredRecord, error) {
	return read(ctx, c, func(tx Tx) (store.StoredRecord, error) { return recordWithEvents(ctx, tx, id) })
}

func recordWithEvents(ctx context.Context, tx Tx, id string) (store.StoredRecord, error) {
	record, err := selectRecord(ctx, tx, id)
	if err != nil {
		return record, err
	}
	record.Events, err = selectEvents(ctx, tx, id)
	return record, err
}

func selectRecord(ctx context.Context, tx Tx, id string) (store.StoredRecord, error) {
	return one(ctx, tx, scanRecord, recordQuery+" WHERE r.id = $1", id)
}

// Records implements store.Certifications.
func (c *Core) Records(ctx context.Context, filter store.RecordFilter) ([]store.StoredRecord, string, error) {
	limit := filter.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	query, args := recordQuery+" WHERE 1 = 1", []any{}
	and := func(condition, value string) {
		if value != "" {
			args = append(args, value)
			query += " AND " + condition + " $" + strconv.Itoa(len(args))
		}
	}
	and("r.contract =", filter.Contract)
	if filter.Target != nil {
		and("r.target =", filter.Target.String())
	}
	and("r.id <", filter.Cursor)
	args = append(args, limit+1)
	query += " ORDER BY r.id DESC LIMIT $" + strconv.Itoa(len(args))
	next := ""
	page, err := read(ctx, c, func(tx Tx) ([]store.StoredRecord, error) {
		items, err := collect(ctx, tx, scanRecord, query, args...)
		if err != nil {
			return nil, err
		}
		items, next = cut(items, limit, func(r store.StoredRecord) string { return r.ID })
		return items, addEvents(ctx, tx, items)
	})
	return page, next, err
}

// Revoke implements store.Certifications. The proofs row is what an insert of an attempt waits for or sees.
func (c *Core) Revoke(ctx context.Context, id, reason, by string) (store.StoredRecord, error) {
	return write(ctx, c, func(tx Tx) (store.StoredRecord, error) {
		if _, err := selectRecord(ctx, tx, id); err != nil {
			return store.StoredRecord{}, err
		}
		if err := c.lockProofs(ctx, tx); err != nil {
			return store.StoredRecord{}, err
		}
		now, err := c.now(ctx, tx)
		if err != nil {
			return store.StoredRecord{}, err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO certification_revocations (certification_id, reason, revoked_by, revoked_at)
			VALUES ($1, $2, $3, $4) ON CONFLICT (certification_id) DO NOTHING`, id, plain(reason), by, at(now)); err != nil {
			return store.StoredRecord{}, err
		}
		if _, err := tx.Exec(ctx, `UPDATE proofs SET revoked_at = $2, updated_at = $2
			WHERE certification_id = $1 AND revoked_at IS NULL`, id, at(now)); err != nil {
			return store.StoredRecord{}, err
		}
		if _, err := appendEvent(ctx, tx, certification.Event{
			CertificationID: id, Type: certification.EventRevoked, Detail: reason, By: by, At: now,
		}); err != nil {
			return store.StoredRecord{}, err
		}
		return recordWithEvents(ctx, tx, id)
	})
}

// lockProofs takes the place in the queue of those who move a proof.
func (c *Core) lockProofs(ctx context.Context, tx Tx) error {
	lock := c.engine.Dialect().LockProofs
	if lock == "" {
		return nil
	}
	_, err := tx.Exec(ctx, lock)
	return err
}

// Standings implements store.Certifications.
func (c *Core) Standings(ctx context.Context, keys []certification.Key) ([]certification.Standing, error) {
	return read(ctx, c, func(tx Tx) ([]certification.Standing, error) {
		now, err := c.now(ctx, tx)
		if err != nil {
			return nil, err
		}
		out := make([]certification.Standing, 0, len(keys))
		for _, key := range keys {
			standing, err := standingOf(ctx, tx, key, "", now)
			if err != nil {
				return nil, err
			}
			if standing.Proof != nil {
				if standing.Events, err = selectEvents(ctx, tx, standing.Proof.CertificationID); err != nil {
					return nil, err
				}
			}
			out = append(out, standing)
		}
		return out, nil
	})
}

// standingOf reads the one proofs row of a key, under a lock where one is given, and the newest record
// of (contract, target) where there is no such row.
func standingOf(ctx context.Context, tx Tx, key certification.Key, lock string, now time.Time) (certification.Standing, error) {
	standing := certification.Standing{Key: key, Now: now}
	proof, err := one(ctx, tx, scanProof, "SELECT "+proofColumns+" FROM proofs WHERE proof_digest = $1 AND target = $2"+lock,
		key.ProofDigest, key.Target.String())
	if err == nil {
		standing.Proof = &proof
		return standing, nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return standing, err
	}
	latest, err := one(ctx, tx, scanRecord, recordQuery+
		" WHERE r.contract = $1 AND r.target = $2 ORDER BY r.id DESC LIMIT 1", key.Contract, key.Target.String())
	if errors.Is(err, store.ErrNotFound) {
		return standing, nil
	}
	standing.Latest = &latest.Record
	return standing, err
}

// proofColumns take the time of issue from the record by a subquery, so that a lock is one of the proofs row.
const proofColumns = `proof_digest, target, certification_id, verdict, source, expires_at, revoked_at, suspended_at,
	(SELECT issued_at FROM certification_records WHERE id = certification_id)`

func scanProof(rows Rows) (certification.Proof, error) {
	var (
		proof                               certification.Proof
		target                              string
		expires, revoked, suspended, issued stamp
	)
	if err := rows.Scan(&proof.ProofDigest, &target, &proof.CertificationID, &proof.Verdict, &proof.Source, &expires,
		&revoked, &suspended, &issued); err != nil {
		return proof, err
	}
	proof.ExpiresAt, proof.RevokedAt, proof.SuspendedAt, proof.IssuedAt = expires.Time, revoked.Time, suspended.Time, issued.Time
	return proof, proof.Target.UnmarshalText([]byte(target))
}

func validSource(source providers.Source) error {
	if !slices.Contains(certification.EverySource, source) {
		return fmt.Errorf("source %q is none of live, replay, simulated", source)
	}
	return nil
}
