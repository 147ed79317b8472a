package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/service/store"
)

// tellWhoAnsweredBefore says of which records it was somebody else who answered than when their pair was last
// certified: another model, another configuration of the provider, or one that treats the schema otherwise. A
// certified substitute is a proof; it is not the model that people remember.
func (p *program) tellWhoAnsweredBefore(ctx context.Context, s store.Store, records []certification.Record) error {
	var text strings.Builder
	for _, record := range records {
		since, err := sinceCertified(ctx, s, store.StoredRecord{Record: record})
		if err != nil {
			return failed(fmt.Errorf("what was certified before cannot be read: %w", err))
		}
		if since == nil || len(record.ServedModels) == 0 || len(since.Served) == 0 {
			continue
		}
		fmt.Fprintf(&text, "\n%s at %s, since it was last certified (%s, record %s):\n",
			visible(record.Contract), visible(record.Target.String()), stamp(since.Before.IssuedAt), since.Before.ID)
		for _, change := range since.Served {
			fmt.Fprintf(&text, "  %s: %s → %s\n", change.Name, shortened(change.Before), shortened(change.After))
		}
	}
	return p.print(text.String())
}
