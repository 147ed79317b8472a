package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/service/store"
)

// tellWhatChanged says of which records it was something else that was certified than when their pair last was: the
// contract or the profile was edited, or somebody else answered, another model, another configuration of the provider, or
// one that treats the schema otherwise. A certified substitute is a proof; it is not what people remember.
func (p *program) tellWhatChanged(ctx context.Context, s store.Store, records []certification.Record) error {
	var text strings.Builder
	for _, record := range records {
		since, err := sinceCertified(ctx, s, store.StoredRecord{Record: record})
		if err != nil {
			return failed(fmt.Errorf("what was certified before cannot be read: %w", err))
		}
		if since == nil {
			continue
		}
		changed := since.Settings
		if len(record.ServedModels) > 0 { // else nobody answered
			changed = slices.Concat(changed, since.Served)
		}
		if len(changed) == 0 {
			continue
		}
		fmt.Fprintf(&text, "\n%s at %s, since it was last certified (%s, record %s):\n",
			visible(record.Contract), visible(record.Target.String()), stamp(since.Before.IssuedAt), since.Before.ID)
		for _, change := range changed {
			fmt.Fprintf(&text, "  %s: %s → %s\n", change.Name, shortened(change.Before), shortened(change.After))
		}
	}
	return p.print(text.String())
}
