package evidence

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/go-json-experiment/json"

	"github.com/fallproof/fallproof/contracts/certification"
)

// Bounds of a document. The second is what a reader accepts, whatever its compressed bytes unfold to.
const (
	maxBodies   = 32 << 20 // of requests, answers and contents, all samples together
	maxDocument = 256 << 20
)

// Packed is a document as it is kept.
type Packed struct {
	Ref     certification.EvidenceRef
	Content []byte // gzip
}

// ErrDamaged says that kept evidence is not what its record names.
var ErrDamaged = errors.New("the evidence is not what the record names")

// Pack writes a document, compressed. Where its bodies are too many, those of later samples are left out,
// and of good samples before all others; what was found in them stays.
func Pack(d Document) (Packed, error) {
	d.Format = Format
	d.bound()
	var content bytes.Buffer
	zipped := gzip.NewWriter(&content)
	plain := &measure{to: zipped, digest: sha256.New()}
	if err := json.MarshalWrite(plain, d, json.Deterministic(true)); err != nil {
		return Packed{}, fmt.Errorf("evidence: %w", err)
	}
	if err := zipped.Close(); err != nil {
		return Packed{}, fmt.Errorf("evidence: %w", err)
	}
	return Packed{
		Ref: certification.EvidenceRef{
			Digest: hex.EncodeToString(plain.digest.Sum(nil)), Bytes: plain.bytes, Samples: len(d.Samples),
		},
		Content: content.Bytes(),
	}, nil
}

// measure counts and hashes what passes through.
type measure struct {
	to     io.Writer
	digest hash.Hash
	bytes  int64
}

func (m *measure) Write(p []byte) (int, error) {
	m.digest.Write(p)
	m.bytes += int64(len(p))
	return m.to.Write(p)
}

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

// bound leaves out bodies beyond the bound, good samples' first.
func (d *Document) bound() {
	left := maxBodies
	for _, good := range []bool{false, true} {
		for i := range d.Samples {
			s := &d.Samples[i]
			if s.Good() != good {
				continue
			}
			size := s.size()
			if left -= size; left < 0 {
				s.omit()
				d.Omitted++
				left += size
			}
		}
	}
}

func (s Sample) size() int {
	size := len(s.Content)
	for _, ex := range append([]Exchange{s.Exchange}, s.Before...) {
		size += len(ex.Request) + len(ex.Answer) + len(ex.AnswerBinary)
	}
	return size
}

func (s *Sample) omit() {
	s.Omitted, s.Content = true, ""
	s.Exchange.Request, s.Exchange.Answer, s.Exchange.AnswerBinary = "", "", nil
	s.Before = nil
}
