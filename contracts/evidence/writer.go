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
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/contracts/certification"
)

// Packed is a document as it is kept.
type Packed struct {
	Ref     certification.EvidenceRef
	Content []byte // gzip
}

// Writer packs a document sample by sample, so that no more of it need be in memory than its compressed
// bytes. What looks like a credential is taken out of everything that it writes.
//
// Bodies have a bound. Where they are too many, those of good samples are left out before all others, and
// what was found in them stays; that is why [NewWriter] is told how large the others are.
type Writer struct {
	packed  bytes.Buffer
	zipped  *gzip.Writer
	plain   *measure
	encoder *jsontext.Encoder
	same    scrubbed
	spare   int // bytes of bodies that good samples may have
	left    int // bytes that the others may have
	samples int
	omitted int
	err     error
}

// zippers are used again: each is most of a megabyte.
var zippers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// NewWriter begins a document. Of head everything is written but its Samples, Calls and Omitted; bad is the
// [Sample.Size] of all samples together that are not [Sample.Good].
func NewWriter(head Document, bad int) *Writer {
	w := &Writer{spare: max(0, maxBodies-bad), left: maxBodies, same: scrubbed{}}
	w.zipped = zippers.Get().(*gzip.Writer)
	w.zipped.Reset(&w.packed)
	w.plain = &measure{to: w.zipped, digest: sha256.New()}
	w.encoder = jsontext.NewEncoder(w.plain)
	w.token(jsontext.BeginObject)
	w.member("format", Format)
	w.member("certification_id", head.CertificationID)
	w.member("contract", head.Contract)
	w.member("target", head.Target)
	w.member("proof_digest", head.ProofDigest)
	cases := make([]Case, len(head.Cases))
	for i, c := range head.Cases {
		cases[i] = c.scrubbed()
	}
	w.member("cases", cases)
	w.token(jsontext.String("samples"))
	w.token(jsontext.BeginArray)
	return w
}

// Add writes the next sample of a case.
func (w *Writer) Add(s Sample) {
	size, budget := s.Size(), &w.left
	if s.Good() {
		budget = &w.spare
	}
	if size > *budget {
		s = s.omitted()
		w.omitted++
		size = 0
	}
	*budget -= size
	w.samples++
	w.value(s.scrubbed(w.same))
}

// Close writes the calls that are no samples, and returns the document. The first error of all is its error.
func (w *Writer) Close(calls []Sample) (Packed, error) {
	w.token(jsontext.EndArray)
	kept := make([]Sample, len(calls))
	for i, call := range calls {
		kept[i] = call.scrubbed(w.same)
	}
	w.member("calls", kept)
	w.member("omitted", w.omitted)
	w.token(jsontext.EndObject)
	err := errors.Join(w.err, w.zipped.Close())
	zippers.Put(w.zipped)
	if err != nil {
		return Packed{}, fmt.Errorf("evidence: %w", err)
	}
	return Packed{
		Ref: certification.EvidenceRef{
			Digest: hex.EncodeToString(w.plain.digest.Sum(nil)), Bytes: w.plain.bytes, Samples: w.samples,
		},
		Content: w.packed.Bytes(),
	}, nil
}

// Pack writes a whole document; see [Writer].
func Pack(d Document) (Packed, error) {
	bad := 0
	for _, s := range d.Samples {
		if !s.Good() {
			bad += s.Size()
		}
	}
	w := NewWriter(d, bad)
	for _, s := range d.Samples {
		w.Add(s)
	}
	return w.Close(d.Calls)
}

func (w *Writer) member(name string, value any) {
	w.token(jsontext.String(name))
	w.value(value)
}

func (w *Writer) token(t jsontext.Token) {
	if w.err == nil {
		w.err = w.encoder.WriteToken(t)
	}
}

func (w *Writer) value(v any) {
	if w.err == nil {
		w.err = json.MarshalEncode(w.encoder, v, json.Deterministic(true))
	}
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

// Size is how many bytes of bodies a sample holds.
func (s Sample) Size() int {
	size := len(s.Content)
	for _, ex := range append([]Exchange{s.Exchange}, s.Before...) {
		size += len(ex.Request) + len(ex.Answer) + len(ex.AnswerBinary)
	}
	return size
}

// omitted is the sample without its bodies.
func (s Sample) omitted() Sample {
	s.Omitted, s.Content = true, ""
	s.Exchange.Request, s.Exchange.Answer, s.Exchange.AnswerBinary = "", "", nil
	s.Before = nil
	return s
}
