package chaos

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

// proof is a row of proofs.
type proof struct{ certification, contract, target string }

// withdraw revokes the proof of a target and, after a while, has it certified anew.
func (w *world) withdraw(ctx context.Context, draw *rand.Rand) {
	var standing []proof
	rows, err := w.db.Query(ctx, `SELECT certification_id, contract, target FROM proofs
		WHERE verdict = 'certified' AND revoked_at IS NULL ORDER BY contract, target`)
	if err == nil {
		standing, err = gather(rows, func(p *proof) []any { return []any{&p.certification, &p.contract, &p.target} })
	}
	if err != nil || len(standing) == 0 {
		return // the database is away
	}
	p := one(draw, standing)
	got, err := w.operate(ctx, draw, http.MethodPost, "/v1/certifications/"+p.certification+"/revoke", `{"reason": "drill"}`)
	w.book.revoked(p.certification, got, err)
	for rest(ctx, between(draw, 500*time.Millisecond, 2*time.Second)) {
		if _, err := w.try(ctx, "certify", "--contract", p.contract, "--target", p.target); err == nil {
			w.book.count("proofs renewed", 1)
			return
		}
		w.book.count("certifications that were disturbed", 1)
	}
}

// revoked notes when a revocation was acknowledged: from then on nothing may start on that proof.
func (b *book) revoked(certification string, got answer, err error) {
	if err != nil || got.status != http.StatusOK {
		b.count("revocations without an answer", 1)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts["proofs revoked"]++
	b.acks[certification] = time.Now()
}
