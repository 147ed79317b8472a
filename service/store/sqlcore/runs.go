package sqlcore

import (
	"context"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/service/store"
)

const runColumns = "id, name, contract, proof_digest, target, COALESCE(record_id, ''), started_at"

func scanRun(rows Rows) (store.Run, error) {
	var (
		run     store.Run
		target  string
		started stamp
	)
	if err := rows.Scan(&run.ID, &run.Name, &run.Contract, &run.ProofDigest, &target, &run.RecordID, &started); err != nil {
		return run, err
	}
	run.StartedAt = started.Time
	return run, run.Target.UnmarshalText([]byte(target))
}

// OpenRun implements store.Certifications.
func (c *Core) OpenRun(ctx context.Context, run store.Run) (store.Run, error) {
	return write(ctx, c, func(tx Tx) (store.Run, error) {
		now, err := c.now(ctx, tx)
		if err != nil {
			return store.Run{}, err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO certification_runs (id, name, contract, proof_digest, target, started_at)
			VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name, proof_digest, target) DO NOTHING`,
			run.ID, run.Name, run.Contract, run.ProofDigest, run.Target.String(), at(now)); err != nil {
			return store.Run{}, err
		}
		return one(ctx, tx, scanRun, "SELECT "+runColumns+` FROM certification_runs
			WHERE name = $1 AND proof_digest = $2 AND target = $3`, run.Name, run.ProofDigest, run.Target.String())
	})
}

// ClaimSample implements store.Certifications.
func (c *Core) ClaimSample(ctx context.Context, claim store.SampleClaim) (bool, error) {
	return write(ctx, c, func(tx Tx) (bool, error) {
		now, err := c.now(ctx, tx)
		if err != nil {
			return false, err
		}
		rows, err := tx.Exec(ctx, `INSERT INTO certification_samples AS s (run_id, case_name, sample_index, claimed_by, claimed_until)
			VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (run_id, case_name, sample_index) DO UPDATE SET claimed_by = excluded.claimed_by, claimed_until = excluded.claimed_until
			WHERE s.finished_at IS NULL AND (s.claimed_until <= $6 OR s.claimed_by = excluded.claimed_by)`,
			claim.RunID, claim.Case, claim.Index, claim.By, at(now.Add(claim.Lease)), at(now))
		return rows == 1, err
	})
}

// FinishSample implements store.Certifications.
func (c *Core) FinishSample(ctx context.Context, sample store.Sample) (bool, error) {
	return write(ctx, c, func(tx Tx) (bool, error) {
		now, err := c.now(ctx, tx)
		if err != nil {
			return false, err
		}
		rows, err := tx.Exec(ctx, `UPDATE certification_samples SET evidence = $4, finished_at = $5, claimed_by = $6
			WHERE run_id = $1 AND case_name = $2 AND sample_index = $3 AND finished_at IS NULL`,
			sample.RunID, sample.Case, sample.Index, plain(sample.Evidence), at(now), sample.By)
		return rows == 1, err
	})
}

// Samples implements store.Certifications.
func (c *Core) Samples(ctx context.Context, runID string) ([]store.Sample, error) {
	return read(ctx, c, func(tx Tx) ([]store.Sample, error) {
		return collect(ctx, tx, func(rows Rows) (store.Sample, error) {
			var sample store.Sample
			var finished stamp
			err := rows.Scan(&sample.RunID, &sample.Case, &sample.Index, &sample.By, &sample.Evidence, &finished)
			sample.FinishedAt = finished.Time
			return sample, err
		}, `SELECT run_id, case_name, sample_index, claimed_by, evidence, finished_at FROM certification_samples
			WHERE run_id = $1 AND finished_at IS NOT NULL ORDER BY case_name, sample_index`, runID)
	})
}

// FinishRun implements store.Certifications.
func (c *Core) FinishRun(ctx context.Context, runID string, record certification.Record, validFor time.Duration) (certification.Record, bool, error) {
	return c.finishRun(ctx, runID, record, nil, validFor)
}

// FinishRunWithEvidence implements store.Certifications.
func (c *Core) FinishRunWithEvidence(ctx context.Context, runID string, record certification.Record, kept evidence.Packed, validFor time.Duration) (certification.Record, bool, error) {
	record.Evidence = &kept.Ref
	return c.finishRun(ctx, runID, record, &kept, validFor)
}

// finishRun: the run's row lock makes the first record the only one.
func (c *Core) finishRun(ctx context.Context, runID string, record certification.Record, kept *evidence.Packed, validFor time.Duration) (certification.Record, bool, error) {
	if err := validSource(record.Source); err != nil {
		return record, false, err
	}
	won := false
	stored, err := write(ctx, c, func(tx Tx) (certification.Record, error) {
		won = false
		run, err := one(ctx, tx, scanRun, "SELECT "+runColumns+" FROM certification_runs WHERE id = $1"+c.engine.Dialect().ForUpdate, runID)
		if err != nil {
			return record, err
		}
		if run.RecordID != "" {
			existing, err := selectRecord(ctx, tx, run.RecordID)
			won = run.RecordID == record.ID // our own, whose COMMIT's answer was lost
			return existing.Record, err
		}
		now, err := c.now(ctx, tx)
		if err != nil {
			return record, err
		}
		record.RunID, record.RunName = run.ID, run.Name
		record.IssuedAt, record.ExpiresAt = now, now.Add(validFor)
		won = true
		if err := c.appendRecord(ctx, tx, record, run.StartedAt); err != nil || kept == nil {
			return record, err
		}
		return record, appendEvidence(ctx, tx, record.ID, *kept)
	})
	return stored, won && err == nil, err
}

func (c *Core) appendRecord(ctx context.Context, tx Tx, r certification.Record, begun time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO certification_records (id, run_id, contract, target, proof_digest, effective_digest,
		profile_digest, verdict, source, document, issued_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		r.ID, r.RunID, r.Contract, r.Target.String(), r.ProofDigest, r.EffectiveDigest, r.ProfileDigest, string(r.Verdict),
		string(r.Source), plain(encoded(r)), at(r.IssuedAt), at(r.ExpiresAt))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE certification_runs SET record_id = $2 WHERE id = $1 AND record_id IS NULL", r.RunID, r.ID)
	if err != nil || r.Verdict == certification.Inconclusive {
		return err
	}
	return c.moveProof(ctx, tx, r, begun)
}
