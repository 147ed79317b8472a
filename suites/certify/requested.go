package certify

import (
	"context"
	"slices"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/service/store"
)

// Requested are those of the pairs whose re-certification is asked for: because live answers drifted, or
// since their proof ends soon. A judged record that counts closes a request; one that was called for before the contract
// or profile was edited asks for them as they are now.
func Requested(ctx context.Context, kept store.Certifications, pairs []Pair) ([]Pair, error) {
	keys := make([]certification.Key, len(pairs))
	for i, pair := range pairs {
		keys[i] = pair.key()
	}
	open, err := kept.Requests(ctx, keys)
	if err != nil {
		return nil, err
	}
	var requested []Pair
	for i, pair := range pairs {
		asks := func(r store.Request) bool { return r.Contract == keys[i].Contract && r.Target == keys[i].Target }
		if slices.ContainsFunc(open, asks) {
			requested = append(requested, pair)
		}
	}
	return requested, nil
}
