package contracts

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/fallproof/fallproof/contracts/value"
)

// Archive is the whole folder as one JSON text of path to content, the same bytes for the same folder.
// A content that is no text (not UTF-8, or with NUL, which a text column cannot hold) is written as
// {"base64": …}.
func (c *Contract) Archive() []byte {
	archive := make(map[string]any, len(c.files))
	for name, content := range c.files {
		if text := string(content); utf8.ValidString(text) && !strings.ContainsRune(text, 0) {
			archive[name] = text
		} else {
			archive[name] = map[string]any{"base64": base64.StdEncoding.EncodeToString(content)}
		}
	}
	return value.Encode(archive)
}

// FromArchive is the contract that Archive was called on, digest included.
func FromArchive(archive []byte) (*Contract, error) {
	decoded, err := value.Decode(archive)
	if err != nil {
		return nil, fmt.Errorf("contract archive: %w", err)
	}
	entries, ok := decoded.(map[string]any)
	if !ok {
		return nil, errors.New("contract archive: not an object of path to content")
	}
	files := make(map[string][]byte, len(entries))
	for name, entry := range entries {
		if !fs.ValidPath(name) {
			return nil, fmt.Errorf("contract archive: %q is no path inside a folder", name)
		}
		if files[name], err = unpack(entry); err != nil {
			return nil, fmt.Errorf("contract archive: %s: %w", name, err)
		}
	}
	return fromFiles("", files)
}

func unpack(entry any) ([]byte, error) {
	switch entry := entry.(type) {
	case string:
		return []byte(entry), nil
	case map[string]any:
		if encoded, ok := entry["base64"].(string); ok && len(entry) == 1 {
			return base64.StdEncoding.DecodeString(encoded)
		}
	}
	return nil, errors.New("neither text nor base64")
}
