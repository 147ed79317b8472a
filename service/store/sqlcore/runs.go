package sqlcore

import (
	"cmp"
	"context"
	"slices"
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

// StepSamples implements store.Certifications. The rows are locked in one order, whoever steps.
func (c *Core) StepSamples(ctx context.Context, steps []store.SampleStep) ([]bool, error) {
	order := make([]int, len(steps))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := steps[i], steps[j]
		return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Case, b.Case), cmp.Compare(a.Index, b.Index))
	})
	return write(ctx, c, func(tx Tx) ([]bool, error) {
		now, err := c.now(ctx, tx)
		if err != nil {
			return nil, err
		}
		taken := make([]bool, len(steps))
		for _, i := range order {
			step := claimSample
			if steps[i].Evidence != "" {
				step = finishSample
			}
			rows, err := step(ctx, tx, steps[i], now)
			if err != nil {
				return nil, err
			}
			taken[i] = rows == 1
		}
		return taken, nil
	})
}

func claimSample(ctx context.Context, tx Tx, s store.SampleStep, now time.Time) (rows int64, err error) {
	return tx.Exec(ctx, `INSERT INTO certification_samples AS s (run_id, case_name, sample_index, claimed_by, claimed_until)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (run_id, case_name, sample_index) DO UPDATE SET claimed_by = excluded.claimed_by, claimed_until = excluded.claimed_until
		WHERE s.finished_at IS NULL AND (s.claimed_until <= $6 OR s.claimed_by = excluded.claimed_by)`,
		s.RunID, s.Case, s.Index, s.By, at(now.Add(s.Lease)), at(now))
}

func finishSample(ctx context.Context, tx Tx, s store.SampleStep, now time.Time) (rows int64, err error) {
	return tx.Exec(ctx, `UPDATE certification_samples SET evidence = $4, finished_at = $5, claimed_by = $6
		WHERE run_id = $1 AND case_name = $2 AND sample_index = $3 AND finished_at IS NULL`,
		s.RunID, s.Case, s.Index, plain(s.Evidence), at(now), s.By)
}

// Samples implements store.Certifications.
func (c *Core) Samples(ctx context.Context, runID string, after store.Place, limit int) ([]store.Sample, error) {
	return read(ctx, c, func(tx Tx) ([]store.Sample, error) {
		return collect(ctx, tx, func(rows Rows) (store.Sample, error) {
			var sample store.Sample
			var finished stamp
			err := rows.Scan(&sample.RunID, &sample.Case, &sample.Index, &sample.By, &sample.Evidence, &finished)
			sample.FinishedAt = finished.Time
			return sample, err
		}, `SELECT run_id, case_name, sample_index, claimed_by, evidence, finished_at FROM certification_samples
			WHERE run_id = $1 AND (case_name, sample_index) > ($2, $3) AND finished_at IS NOT NULL
			ORDER BY case_name, sample_index LIMIT $4`, runID, after.Case, after.Index, limit)
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
		record.IssuedAt, record.ExpiresAt = now, run.StartedAt.Add(validFor) // no answer is older than the run
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
