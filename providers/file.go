package providers

import (
	"crypto/sha256"
	"encoding/hex"
)

// File is a file that belongs to a profile, read when the configuration was. Its content is what counts:
// only the digest goes into the profile's own, so that the same file elsewhere changes no proof, and an
// edited one does.
type File struct {
	Name    string // as people know it; decides nothing
	Digest  string // SHA-256 of Content, in hex
	Content string
}

// NewFile computes the digest once: a tokenizer has megabytes, and profiles are compared often.
func NewFile(name, content string) File {
	sum := sha256.Sum256([]byte(content))
	return File{Name: name, Digest: hex.EncodeToString(sum[:]), Content: content}
}

// Present reports whether there is a file.
func (f File) Present() bool { return f.Digest != "" }

// IsZero keeps a file that is not there out of a profile's digest.
func (f File) IsZero() bool { return !f.Present() }

// MarshalText is the digest.
func (f File) MarshalText() ([]byte, error) { return []byte(f.Digest), nil }
