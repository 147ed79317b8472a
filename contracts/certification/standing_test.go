package certification_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
)

func TestReasons(t *testing.T) {
	const live, replay, simulated = providers.SourceLive, providers.SourceReplay, providers.SourceSimulated
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	onlyLive := []providers.Source{live}
	type standing = certification.Standing
	for name, row := range map[string]struct {
		change   func(*standing)
		accepted []providers.Source
		want     []certification.Reason
	}{
		"it stands":            {change: func(*standing) {}, accepted: onlyLive},
		"a nanosecond is left": {change: func(s *standing) { s.Proof.ExpiresAt = now.Add(1) }, accepted: onlyLive},
		"it ends at this very moment": {
			change: func(s *standing) { s.Proof.ExpiresAt = now }, accepted: onlyLive, want: []certification.Reason{certification.Expired},
		},
		"it ended": {
			change: func(s *standing) { s.Proof.ExpiresAt = now.Add(-1) }, accepted: onlyLive, want: []certification.Reason{certification.Expired},
		},
		"rejected": {
			change:   func(s *standing) { s.Proof.Verdict = certification.Rejected },
			accepted: onlyLive, want: []certification.Reason{certification.ReasonRejected},
		},
		"revoked": {change: func(s *standing) { s.Proof.RevokedAt = now }, accepted: onlyLive, want: []certification.Reason{certification.Revoked}},
		"suspended": {
			change: func(s *standing) { s.Proof.SuspendedAt = now }, accepted: onlyLive, want: []certification.Reason{certification.Suspended},
		},
		"replayed where live alone is accepted": {
			change: func(s *standing) { s.Proof.Source = replay }, accepted: onlyLive, want: []certification.Reason{certification.SourceNotAccepted},
		},
		"simulated where live alone is accepted": {
			change: func(s *standing) { s.Proof.Source = simulated }, accepted: onlyLive, want: []certification.Reason{certification.SourceNotAccepted},
		},
		"live where it is not accepted": {
			change: func(*standing) {}, accepted: []providers.Source{replay, simulated}, want: []certification.Reason{certification.SourceNotAccepted},
		},
		"nothing is accepted":    {change: func(*standing) {}, want: []certification.Reason{certification.SourceNotAccepted}},
		"replayed, accepted":     {change: func(s *standing) { s.Proof.Source = replay }, accepted: certification.EverySource},
		"simulated, accepted":    {change: func(s *standing) { s.Proof.Source = simulated }, accepted: certification.EverySource},
		"live, among the others": {change: func(*standing) {}, accepted: certification.EverySource},
		"all at once": {
			change: func(s *standing) {
				s.Proof = &certification.Proof{Verdict: certification.Rejected, Source: simulated, ExpiresAt: now, RevokedAt: now, SuspendedAt: now}
			},
			accepted: onlyLive, want: []certification.Reason{
				certification.ReasonRejected, certification.Revoked, certification.Suspended, certification.Expired, certification.SourceNotAccepted,
			},
		},
		"a newer record of other digests changes no proof": {
			change: func(s *standing) { s.Latest = &certification.Record{EffectiveDigest: "e2", ProfileDigest: "p2"} }, accepted: onlyLive,
		},
		"never certified": {
			change: func(s *standing) { s.Proof, s.Latest = nil, nil }, accepted: onlyLive, want: []certification.Reason{certification.NoCertification},
		},
		"certified as another contract": {
			change:   func(s *standing) { s.Proof, s.Latest.EffectiveDigest = nil, "e2" },
			accepted: onlyLive, want: []certification.Reason{certification.ContractChanged},
		},
		"certified under another profile": {
			change:   func(s *standing) { s.Proof, s.Latest.ProfileDigest = nil, "p2" },
			accepted: onlyLive, want: []certification.Reason{certification.ProfileChanged},
		},
		"under another profile, of which the contract is another too": {
			change:   func(s *standing) { s.Proof, s.Latest.EffectiveDigest, s.Latest.ProfileDigest = nil, "e2", "p2" },
			accepted: onlyLive, want: []certification.Reason{certification.ProfileChanged},
		},
		"judged as it is, and nothing came of it": {
			change: func(s *standing) { s.Proof = nil }, accepted: onlyLive, want: []certification.Reason{certification.ReasonInconcl},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := standing{
				Key:    certification.Key{EffectiveDigest: "e1", ProfileDigest: "p1"},
				Proof:  &certification.Proof{Verdict: certification.Certified, Source: live, ExpiresAt: now.Add(time.Hour)},
				Latest: &certification.Record{EffectiveDigest: "e1", ProfileDigest: "p1"},
				Now:    now,
			}
			row.change(&s)
			NewWithT(t).Expect(s.Reasons(row.accepted)).To(Equal(row.want))
		})
	}
}
