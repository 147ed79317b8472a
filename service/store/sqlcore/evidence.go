package sqlcore

import (
	"context"

	"github.com/fallproof/fallproof/contracts/evidence"
)

func appendEvidence(ctx context.Context, tx Tx, id string, kept evidence.Packed) error {
	_, err := tx.Exec(ctx, `INSERT INTO certification_artifacts (certification_id, content, digest, bytes, samples)
		VALUES ($1, $2, $3, $4, $5)`, id, kept.Content, kept.Ref.Digest, kept.Ref.Bytes, kept.Ref.Samples)
	return err
}

// Evidence implements store.Certifications.
func (c *Core) Evidence(ctx context.Context, id string) (evidence.Packed, error) {
	return read(ctx, c, func(tx Tx) (evidence.Packed, error) {
		return one(ctx, tx, func(rows Rows) (evidence.Packed, error) {
			var kept evidence.Packed
			err := rows.Scan(&kept.Content, &kept.Ref.Digest, &kept.Ref.Bytes, &kept.Ref.Samples)
			return kept, err
		}, "SELECT content, digest, bytes, samples FROM certification_artifacts WHERE certification_id = $1", id)
	})
}
