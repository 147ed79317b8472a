package sqlcore

import (
	"context"
	"time"

	"github.com/fallproof/fallproof/service/job"
)

// RenewLeases implements store.Jobs. A lease that was swept is gone; it is not renewed.
func (c *Core) RenewLeases(ctx context.Context, bootID string, lease time.Duration) ([]job.Ref, error) {
	return write(ctx, c, func(tx Tx) ([]job.Ref, error) {
		now, err := c.now(ctx, tx)
		if err != nil {
			return nil, err
		}
		return collect(ctx, tx, func(rows Rows) (job.Ref, error) {
			var ref job.Ref
			err := rows.Scan(&ref.Owner, &ref.JobID, &ref.Number)
			return ref, err
		}, `UPDATE attempts SET lease_until = $2 WHERE lease_until IS NOT NULL AND boot_id = $1
			RETURNING owner_id, job_id, number`, bootID, at(now.Add(lease)))
	})
}

// Overdue implements store.Jobs. It only proposes: Change.OnlyIfOverdue asks again inside the write.
// The two halves are read each in the order of its own index, and end at the limit: asked for both at once,
// PostgreSQL reads the whole table where its statistics are old, all its dead rows included.
func (c *Core) Overdue(ctx context.Context, limit int) ([]job.Attempt, error) {
	return read(ctx, c, func(tx Tx) ([]job.Attempt, error) {
		now, err := c.now(ctx, tx)
		if err != nil {
			return nil, err
		}
		return collect(ctx, tx, scanAttempt, `
			SELECT * FROM (SELECT `+attemptColumns+` FROM attempts
				WHERE lease_until IS NOT NULL AND lease_until <= $1 ORDER BY lease_until LIMIT $2) AS orphans
			UNION ALL
			SELECT * FROM (SELECT `+attemptColumns+` FROM attempts
				WHERE state = 'starting' AND start_by <= $1 ORDER BY start_by LIMIT $2) AS impatient
			LIMIT $2`, at(now), limit)
	})
}
