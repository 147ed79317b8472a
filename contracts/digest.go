package contracts

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"strconv"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
)

// Digest is the SHA-256, in hex, of the whole folder: each path and each content framed by its length,
// in the order of the paths, so that no byte can move from one to the next unseen.
func (c *Contract) Digest() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		frame(sum, []byte(name))
		frame(sum, c.files[name])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func frame(sum hash.Hash, content []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(content)))
	sum.Write(length[:])
	sum.Write(content)
}

// EffectiveDigest covers what certification proves at one target: the messages with the target's
// variant applied, the schema's bytes, sampling, checks, thresholds, validity and cases. Left out is
// what proves nothing there: other targets' variants, the effects that only steer what follows doubt,
// and the way the files are laid out.
func (c *Contract) EffectiveDigest(target providers.Target) string {
	sum := sha256.Sum256(value.Canonical(c.effective(target)))
	return hex.EncodeToString(sum[:])
}

// ProofDigest names what a certification record is about: the effective contract for one target and
// that target's profile. Edit either and yesterday's proof no longer counts.
func (c *Contract) ProofDigest(target providers.Target, profile providers.Profile) string {
	sum := sha256.New()
	frame(sum, []byte(c.EffectiveDigest(target)))
	frame(sum, []byte(profile.Digest()))
	return hex.EncodeToString(sum.Sum(nil))
}

func (c *Contract) effective(target providers.Target) map[string]any {
	messages := []any{}
	for _, m := range c.MessagesFor(target) {
		messages = append(messages, map[string]any{"role": m.Role, "content": m.Content})
	}
	checks := []any{}
	for _, check := range c.Checks {
		checks = append(checks, map[string]any{"name": check.Name, "expr": check.Expr})
	}
	cases := []any{}
	for _, each := range c.Cases {
		fields := map[string]any{"name": each.Name, "input": each.Input}
		if each.Expected != nil {
			fields["expected"] = each.Expected
		}
		cases = append(cases, fields)
	}
	effective := map[string]any{
		"name":        c.Name,
		"messages":    messages,
		"schema_name": c.SchemaName,
		"schema":      hex.EncodeToString(c.Schema), // bytes, because it is sent byte for byte
		"sampling": map[string]any{
			"temperature":       number(c.Sampling.Temperature),
			"samples":           value.FromInt(c.Sampling.Samples),
			"max_output_tokens": value.FromInt(c.Sampling.MaxOutputTokens),
		},
		"checks": checks,
		"thresholds": map[string]any{
			"prompt": number(c.Thresholds.Prompt), "structure": number(c.Thresholds.Structure),
			"business": number(c.Thresholds.Business), "round_trip": number(c.Thresholds.RoundTrip),
		},
		"valid_for": c.ValidFor.String(),
		"cases":     cases,
	}
	if len(c.Require) > 0 { // absent where nothing is required, so that such a contract's digest is what it was
		effective["require"] = sortedValues(c.Require)
	}
	if c.UnwrapFence {
		effective["unwrap_fence"] = true
	}
	if c.MutationFloor != defaultMutationFloor { // the same, for the usual floor
		effective["mutation_floor"] = number(c.MutationFloor)
	}
	if len(c.Unordered) > 0 {
		effective["unordered"] = sortedValues(c.Unordered)
	}
	if len(c.FreeText) > 0 {
		effective["free_text"] = sortedValues(c.FreeText)
	}
	return effective
}

func sortedValues(words []string) []any {
	list := []any{}
	for _, word := range slices.Sorted(slices.Values(words)) {
		list = append(list, word)
	}
	return list
}

func number(f float64) value.Number { return value.Number(strconv.FormatFloat(f, 'g', -1, 64)) }
