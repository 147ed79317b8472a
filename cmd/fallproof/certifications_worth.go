package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/store"
)

// worth is what a record is good for now, in a few words: until when it certifies, or why it does not.
type worth struct {
	text  string
	lapse string // why a certified record certifies nothing any longer; "" where it does
	style style
}

func lapsed(why string, s style) worth { return worth{"no: " + why, why, s} }

// soon is how long before its end a certification is shown as one that wants to be renewed.
const soon = 24 * time.Hour

// worthOf asks the store what has become of each record, by its own clock.
func worthOf(ctx context.Context, c *config.Config, s store.Store, records []store.StoredRecord) ([]worth, error) {
	keys := make([]certification.Key, len(records))
	for i, r := range records {
		keys[i] = certification.Key{
			Contract: r.Contract, Target: r.Target, EffectiveDigest: r.EffectiveDigest, ProfileDigest: r.ProfileDigest, ProofDigest: r.ProofDigest,
		}
	}
	standings, err := s.Standings(ctx, keys)
	if err != nil {
		return nil, err
	}
	all := make([]worth, len(records))
	for i, r := range records {
		all[i] = worthNow(r, standings[i], proofToday(c, r.Contract, r.Target), c.Server.AcceptSources)
	}
	return all, nil
}

// proofToday is the digest that a proof needs today; "" where contract or target is not configured.
func proofToday(c *config.Config, contract string, target providers.Target) string {
	named, ok := c.Catalog.Get(contract)
	if !ok {
		return ""
	}
	profile, ok := c.Profile(target)
	if !ok {
		return ""
	}
	return named.ProofDigest(target, profile)
}

// worthNow judges a record that says certified; others are worth nothing and say so themselves.
func worthNow(r store.StoredRecord, standing certification.Standing, today string, accepted []providers.Source) worth {
	proof := standing.Proof
	left := r.ExpiresAt.Sub(standing.Now)
	switch {
	case r.Verdict != certification.Certified:
		return worth{}
	case !r.RevokedAt.IsZero():
		return lapsed("revoked", bad)
	case left <= 0:
		return lapsed("expired "+stamp(r.ExpiresAt), doubt)
	case proof == nil || proof.CertificationID != r.ID:
		return lapsed("displaced by another record", plain)
	case !proof.SuspendedAt.IsZero():
		return lapsed("suspended", bad)
	case today != "" && today != r.ProofDigest:
		return lapsed("contract or profile changed", doubt)
	}
	until := worth{text: fmt.Sprintf("until %s (%s left)", stamp(r.ExpiresAt), remaining(left)), style: good}
	if left < soon {
		until.style = doubt
	}
	if !slices.Contains(accepted, r.Source) {
		until.text, until.style = until.text+", for who accepts its source", doubt
	}
	return until
}

// remaining is a duration as people say it.
func remaining(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Round(24*time.Hour).Hours())/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	}
	if d < 2*time.Minute {
		return fmt.Sprintf("%d seconds", int(max(0, d).Seconds()))
	}
	return fmt.Sprintf("%d minutes", int(d.Minutes()))
}

// eachRecord visits the records of a contract at a target, newest first, until visit has seen enough.
func eachRecord(ctx context.Context, s store.Store, contract string, target providers.Target, visit func(store.StoredRecord) bool) error {
	filter := store.RecordFilter{Contract: contract, Target: &target, Limit: 50}
	for {
		page, next, err := s.Records(ctx, filter)
		if err != nil {
			return err
		}
		for _, r := range page {
			if !visit(r) {
				return nil
			}
		}
		if next == "" {
			return nil
		}
		filter.Cursor = next
	}
}
