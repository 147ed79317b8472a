package certification

import (
	"slices"
	"time"

	"github.com/fallproof/fallproof/providers"
)

// Reason is why a target is not eligible as a fallback; the words are part of the API.
type Reason string

const (
	NoCertification   Reason = "no_certification"
	ReasonRejected    Reason = "rejected"
	ReasonInconcl     Reason = "inconclusive"
	Expired           Reason = "expired"
	Revoked           Reason = "revoked"
	ContractChanged   Reason = "contract_changed"
	SourceNotAccepted Reason = "source_not_accepted"
	Suspended         Reason = "suspended"
	ProfileChanged    Reason = "profile_changed"
	NotInRoute        Reason = "not_in_route"
	ContextTooSmall   Reason = "context_too_small"
	CircuitOpen       Reason = "circuit_open" // a replica leaves it alone for a while; no matter of proof
)

// Key is what a proof is asked for: the contract as one target sees it today.
type Key struct {
	Contract        string
	Target          providers.Target
	EffectiveDigest string
	ProfileDigest   string
	ProofDigest     string
}

// Proof is the current standing of a (proof digest, target): the one row that certify, revoke, suspend
// and expire all update.
type Proof struct {
	ProofDigest     string
	Target          providers.Target
	CertificationID string
	Verdict         Verdict
	Source          providers.Source
	IssuedAt        time.Time // of the record
	ExpiresAt       time.Time
	RevokedAt       time.Time // zero = not revoked
	SuspendedAt     time.Time // zero = not suspended
}

// Outranks reports whether a record of a source leaves the proof as it is, whatever it says: only a live record displaces
// a live one. What was recorded and what was simulated displace each other.
func (p Proof) Outranks(source providers.Source) bool {
	return p.Source == providers.SourceLive && source != providers.SourceLive
}

// Standing is all that is known about a key at one moment of the database's clock.
type Standing struct {
	Key    Key
	Proof  *Proof  // nil = nothing was ever judged under this proof digest
	Latest *Record // the newest record of (contract, target) under any digest; nil = none
	Events []Event // of the proof's record, oldest first; not read for decisions, which they do not change
	Now    time.Time
}

// EverySource is for who asks whether a proof stands whichever sources a service accepts.
var EverySource = []providers.Source{providers.SourceLive, providers.SourceReplay, providers.SourceSimulated}

// Reasons says why the proof does not stand; empty means it does. accepted are the sources that the
// configuration lets open a fallback.
func (s Standing) Reasons(accepted []providers.Source) []Reason {
	if s.Proof == nil {
		return []Reason{s.reasonWithoutProof()}
	}
	var reasons []Reason
	add := func(bad bool, reason Reason) {
		if bad {
			reasons = append(reasons, reason)
		}
	}
	add(s.Proof.Verdict == Rejected, ReasonRejected)
	add(!s.Proof.RevokedAt.IsZero(), Revoked)
	add(!s.Proof.SuspendedAt.IsZero(), Suspended)
	add(!s.Now.Before(s.Proof.ExpiresAt), Expired)
	add(!slices.Contains(accepted, s.Proof.Source), SourceNotAccepted)
	return reasons
}

// reasonWithoutProof tells "never certified" from "certified as something else than it is today".
func (s Standing) reasonWithoutProof() Reason {
	switch {
	case s.Latest == nil:
		return NoCertification
	case s.Latest.ProfileDigest != s.Key.ProfileDigest:
		return ProfileChanged
	case s.Latest.EffectiveDigest != s.Key.EffectiveDigest:
		return ContractChanged
	default:
		return ReasonInconcl
	}
}
