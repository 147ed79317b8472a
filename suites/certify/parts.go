package certify

import (
	"crypto/sha256"
	"encoding/hex"
)

// longestPart is how long a part of what was certified may be to stand in a record as it is; of a longer one the
// SHA-256 stands there, which tells that it changed.
const longestPart = 160

// parts are what the digests of a pair are made of: the contract as far as it concerns the target, and the target's
// profile.
func (p Pair) parts() map[string]string {
	parts := map[string]string{}
	add := func(of string, all map[string][]byte) {
		for name, text := range all {
			if len(text) > longestPart {
				sum := sha256.Sum256(text)
				text = []byte(hex.EncodeToString(sum[:]))
			}
			parts[p.Scrub.Text(of+": "+name)] = p.Scrub.Text(string(text))
		}
	}
	add("contract", p.Contract.Parts(p.Target))
	add("profile", p.Profile.Settings())
	return parts
}
