package certify

import (
	"crypto/sha256"
	"encoding/hex"

	kept "github.com/fallproof/fallproof/contracts/evidence"
)

// longestPart is how long a part of what was certified may be to stand in a record as it is; of a longer one the
// SHA-256 stands there, which tells that it changed.
const longestPart = 160

// Parts are what the digests of a pair are made of, as its records keep them: the contract as far as it concerns the
// target, and the target's profile, without keys.
func (p Pair) Parts() map[string]string {
	parts, hidden := map[string]string{}, func(text string) string { return kept.Scrub(p.Scrub.Text(text)) }
	add := func(of string, all map[string][]byte) {
		for name, text := range all {
			if len(text) > longestPart {
				sum := sha256.Sum256(text)
				text = []byte(hex.EncodeToString(sum[:]))
			}
			parts[hidden(of+": "+name)] = hidden(string(text))
		}
	}
	add("contract", p.Contract.Parts(p.Target))
	settings := p.Profile.Settings()
	delete(settings, "breaks") // follows from the files and control_tokens
	add("profile", settings)
	return parts
}
