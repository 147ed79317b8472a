package storetest

import (
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/store"
)

var keys = []behaviour{{"a key is found by its hash until it is revoked", apiKeys}}

func apiKeys(w *world) {
	key := store.APIKey{ID: fresh("key"), Owner: "acme", Hash: fresh("hash"), Scopes: []string{store.ScopeClient, store.ScopeOperator}}
	w.Expect(w.Store.CreateKey(w.ctx, key)).To(Succeed())
	found, err := w.Store.KeyByHash(w.ctx, key.Hash)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(found.CreatedAt.IsZero()).To(BeFalse())
	key.CreatedAt = found.CreatedAt
	w.Expect(found).To(Equal(key))
	_, err = w.Store.KeyByHash(w.ctx, "nobody's")
	w.Expect(err).To(MatchError(store.ErrNotFound))
	w.Expect(w.Store.RevokeKey(w.ctx, key.ID)).To(Succeed())
	w.Expect(w.Store.RevokeKey(w.ctx, key.ID)).To(Succeed())
	w.Expect(w.Store.RevokeKey(w.ctx, "nowhere")).To(MatchError(store.ErrNotFound))
	_, err = w.Store.KeyByHash(w.ctx, key.Hash)
	w.Expect(err).To(MatchError(store.ErrNotFound))
	listed, err := w.Store.ListKeys(w.ctx, "acme")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(listed).To(HaveExactElements(HaveField("ID", key.ID)))
}
