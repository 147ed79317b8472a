package evidence

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"

	"github.com/fallproof/fallproof/contracts/certification"
)

// Bounds of a document. The second is what a reader accepts, whatever its compressed bytes unfold to.
const (
	maxBodies   = 32 << 20 // of requests, answers and contents, all samples together
	maxDocument = 256 << 20
)

// ErrDamaged says that kept evidence is not what its record names.
var ErrDamaged = errors.New("the evidence is not what the record names")

// Text is the document's JSON: the very bytes that ref names, or an error that wraps [ErrDamaged].
func Text(content []byte, ref certification.EvidenceRef) ([]byte, error) {
	if ref.Bytes < 0 || ref.Bytes > maxDocument {
		return nil, fmt.Errorf("%w: %d bytes are beyond all measure", ErrDamaged, ref.Bytes)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	text, err := io.ReadAll(io.LimitReader(zipped, ref.Bytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	sum := sha256.Sum256(text)
	if int64(len(text)) != ref.Bytes || hex.EncodeToString(sum[:]) != ref.Digest {
		return nil, ErrDamaged
	}
	return text, nil
}

// Open reads a document back.
func Open(content []byte, ref certification.EvidenceRef) (Document, error) {
	text, err := Text(content, ref)
	if err != nil {
		return Document{}, err
	}
	d := Document{}
	if err := json.Unmarshal(text, &d); err != nil {
		return Document{}, fmt.Errorf("evidence: %w", err)
	}
	if d.Format != Format {
		return Document{}, fmt.Errorf("evidence: the form %q is not known, only %q is", d.Format, Format)
	}
	return d, nil
}
