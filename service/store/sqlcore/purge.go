package sqlcore

import (
	"context"
	"time"

	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// closedAndQuiet is what a purge asks of a job: nothing is left that could move it but an explicit attempt. The
// schema asks the same again.
const closedAndQuiet = `purged_at IS NULL AND state IN ('succeeded', 'failed', 'cancelled') AND NOT EXISTS (
	SELECT 1 FROM attempts a WHERE a.owner_id = jobs.owner_id AND a.job_id = jobs.id AND (a.state IN ('starting', 'running', 'unknown')
	OR a.lease_until IS NOT NULL OR (a.state = 'released' AND (a.heard OR a.due_step <> ''))))`

// Purge implements store.Jobs. What another transaction holds is left to the next batch.
func (c *Core) Purge(ctx context.Context, olderThan time.Duration, limit int) (int, error) {
	return write(ctx, c, func(tx Tx) (int, error) {
		now, err := c.now(ctx, tx)
		if err != nil {
			return 0, err
		}
		found, err := collect(ctx, tx, scanOwned, "SELECT owner_id, id FROM jobs WHERE updated_at <= $1 AND "+closedAndQuiet+
			" ORDER BY updated_at LIMIT $2"+c.engine.Dialect().SkipLocked, at(now.Add(-olderThan)), limit)
		if err != nil {
			return 0, err
		}
		purged := 0
		for _, each := range found {
			emptied, err := purgeOne(ctx, tx, each, now)
			if err != nil {
				return 0, err
			}
			purged += emptied
		}
		return purged, nil
	})
}

func scanOwned(rows Rows) (job.Job, error) {
	var j job.Job
	err := rows.Scan(&j.Owner, &j.ID)
	return j, err
}

// purgeOne leaves a tombstone. It asks once more, now under the job's row lock, whether it may: whoever held the
// row before may have moved the job.
func purgeOne(ctx context.Context, tx Tx, j job.Job, now time.Time) (int, error) {
	rows, err := tx.Exec(ctx, `UPDATE jobs SET purged_at = $3, version = version + 1, input = '', metadata = '', plan = '{}',
		error = NULL, result = CASE WHEN result IS NULL THEN NULL ELSE '' END
		WHERE owner_id = $1 AND id = $2 AND `+closedAndQuiet, j.Owner, j.ID, at(now))
	if err != nil || rows == 0 {
		return 0, err
	}
	for _, table := range []string{"events", "attempts"} {
		if _, err := tx.Exec(ctx, "DELETE FROM "+table+" WHERE owner_id = $1 AND job_id = $2", j.Owner, j.ID); err != nil {
			return 0, err
		}
	}
	return 1, nil
}

// unlessPurged hands a job on; a tombstone comes with its error.
func unlessPurged(j job.Job, err error) (job.Job, error) {
	if err == nil && !j.PurgedAt.IsZero() {
		err = store.ErrPurged
	}
	return j, err
}
