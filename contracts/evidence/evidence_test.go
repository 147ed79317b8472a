package evidence_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/contracts/value"
)

func document() evidence.Document {
	return evidence.Document{
		CertificationID: "c1", Contract: "invoices", Target: "p/m",
		Cases: []evidence.Case{{Name: "one", Messages: []evidence.Message{{Role: "user", Content: "שלום"}}, Expected: []byte(`{"total":12.50}`)}},
		Samples: []evidence.Sample{
			{Case: "one", Kind: certification.Answered, Content: "{}", Structure: []evidence.Finding{}, Business: []evidence.Finding{}},
			{Case: "one", Index: 1, Kind: certification.Answered, Content: "x", Structure: []evidence.Finding{{Reason: "not_json", Pointers: []string{}}}, Business: []evidence.Finding{}},
		},
		Calls: []evidence.Sample{{Call: "canary", Kind: certification.Answered, Structure: []evidence.Finding{}, Business: []evidence.Finding{}}},
	}
}

func pack(t *testing.T, d evidence.Document) evidence.Packed {
	t.Helper()
	packed, err := evidence.Pack(d)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

func TestWhatWasPackedIsOpened(t *testing.T) {
	g := NewWithT(t)
	d := document()
	packed := pack(t, d)
	g.Expect(packed.Ref.Samples).To(Equal(2))
	g.Expect(pack(t, d)).To(Equal(packed), "equal evidence has one digest")
	back, err := evidence.Open(packed.Content, packed.Ref)
	g.Expect(err).NotTo(HaveOccurred())
	d.Format = evidence.Format
	g.Expect(back).To(Equal(d))
	text, err := evidence.Text(packed.Content, packed.Ref)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(HaveLen(int(packed.Ref.Bytes)))
	g.Expect(string(text)).To(ContainSubstring(`"total":12.50`), "numbers stay as they are written")
}

func zip(text string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return out.Bytes()
}

// Little that unfolds to very much is not unfolded: whoever read on to its end would find that it has none.
func TestMoreThanTheRecordNamesIsNotRead(t *testing.T) {
	g := NewWithT(t)
	endless := zip(strings.Repeat(" ", 1<<20))
	endless = endless[:len(endless)-9]
	_, err := evidence.Text(endless, pack(t, document()).Ref)
	g.Expect(err).To(MatchError(evidence.ErrDamaged))
	g.Expect(err).NotTo(MatchError(io.ErrUnexpectedEOF))
	_, err = evidence.Text(endless, certification.EvidenceRef{Bytes: 1 << 20})
	g.Expect(err).To(MatchError(io.ErrUnexpectedEOF))
}

// Evidence of another form, though it is what its record names, would be read as something that it is not.
func TestAnotherFormIsNotRead(t *testing.T) {
	g := NewWithT(t)
	packed := pack(t, document())
	text, err := evidence.Text(packed.Content, packed.Ref)
	g.Expect(err).NotTo(HaveOccurred())
	later := strings.Replace(string(text), evidence.Format, "later", 1)
	sum := sha256.Sum256([]byte(later))
	_, err = evidence.Open(zip(later), certification.EvidenceRef{Bytes: int64(len(later)), Digest: hex.EncodeToString(sum[:])})
	g.Expect(err).To(MatchError(ContainSubstring(`the form "later" is not known`)))
}

func TestWhatIsNotWhatTheRecordNamesIsRefused(t *testing.T) {
	packed, other := pack(t, document()), document()
	other.Contract = "triages!" // as many bytes
	for name, row := range map[string]struct {
		content []byte
		change  func(*certification.EvidenceRef)
	}{
		"other evidence":         {content: pack(t, other).Content},
		"no gzip":                {content: []byte("{}")},
		"cut short":              {content: packed.Content[:len(packed.Content)-9]},
		"more than it says":      {content: zip(strings.Repeat(" ", 1<<20))},
		"another length":         {content: packed.Content, change: func(r *certification.EvidenceRef) { r.Bytes-- }},
		"more than anybody says": {content: packed.Content, change: func(r *certification.EvidenceRef) { r.Bytes = 1 << 50 }},
	} {
		t.Run(name, func(t *testing.T) {
			ref := packed.Ref
			if row.change != nil {
				row.change(&ref)
			}
			_, err := evidence.Open(row.content, ref)
			NewWithT(t).Expect(err).To(MatchError(evidence.ErrDamaged))
		})
	}
}

// Of too much evidence the answers that went wrong are kept, and every judgement.
func TestPackLeavesOutGoodAnswersFirst(t *testing.T) {
	g := NewWithT(t)
	d := document()
	huge := strings.Repeat("x", 12<<20)
	d.Samples = nil
	for i := range 4 {
		s := evidence.Sample{Index: i, Kind: certification.Answered, Content: huge, Structure: []evidence.Finding{}, Business: []evidence.Finding{}}
		if i >= 2 {
			s.Business = []evidence.Finding{{Reason: "the total", Pointers: []string{}}}
		}
		d.Samples = append(d.Samples, s)
	}
	packed := pack(t, d)
	back, err := evidence.Open(packed.Content, packed.Ref)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(back.Omitted).To(Equal(2))
	for i, s := range back.Samples {
		g.Expect(s.Omitted).To(Equal(i < 2))
		g.Expect(s.Content == huge).To(Equal(i >= 2))
	}
}

// Secrets are planted wherever one might stand; none is left, and what is JSON stays JSON.
func TestScrub(t *testing.T) {
	for name, row := range map[string]struct{ text, secret string }{
		"header":             {"Authorization: Bearer abc.def-ghi", "abc.def-ghi"},
		"header, basic":      {"proxy-authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"},
		"header without way": {"Authorization: 12345-secret", "12345-secret"},
		"api key header":     {"X-Api-Key: 0a1b2c3d", "0a1b2c3d"},
		"cookie":             {"Set-Cookie: session=0a1b2c3d", "0a1b2c3d"},
		"member":             {`{"api_key": "hunter2hunter2", "n": 1}`, "hunter2hunter2"},
		"member in a text":   {`{"content": "{\"api_key\": \"hunter2hunter2\"}"}`, "hunter2hunter2"},
		"deeper":             {`{"a": "{\"b\": \"{\\\"Authorization\\\":\\\"Bearer hunter2\\\"}\"}"}`, "hunter2"},
		"in a sentence":      {"you sent Bearer 0123456789abcdef0123, which is wrong", "0123456789abcdef0123"},
		"url user":           {"Get https://me:hunter2@models.example/v1: refused", "hunter2"},
		"url parameter":      {"https://models.example/v1?key=hunter2&n=1", "hunter2"},
		"known form":         {"Incorrect API key provided: sk-proj-0123456789abcdefXYZ.", "sk-proj-0123456789abcdefXYZ"},
		"our own":            {"fp_0123456789abcdef0123456789abcdef", "0123456789abcdef"},
		"cloud":              {"AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"},
		"code host":          {"ghp_0123456789abcdefghijABCDEFGHIJ", "0123456789abcdefghij"},
		"signed token":       {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "c2lnbmF0dXJl"},
		"private key":        {"-----BEGIN PRIVATE KEY-----\nMIIEv\n-----END PRIVATE KEY-----", "MIIEv"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			clean := evidence.Scrub(row.text)
			g.Expect(clean).NotTo(ContainSubstring(row.secret))
			g.Expect(clean).To(ContainSubstring(evidence.Redacted))
			g.Expect(evidence.Scrub(clean)).To(Equal(clean), "once is enough")
			if _, err := value.Decode([]byte(row.text)); err == nil {
				_, err := value.Decode([]byte(clean))
				g.Expect(err).NotTo(HaveOccurred(), clean)
			}
			packed := pack(t, planted(row.text))
			text, err := evidence.Text(packed.Content, packed.Ref)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(text)).NotTo(ContainSubstring(row.secret))
		})
	}
}

// Every name and every form that is known is found, not only one of each kind.
func TestScrubKnows(t *testing.T) {
	g := NewWithT(t)
	const secret = "Zq3XyVbN7LmK2pRtUw8aCd5eFg"
	for _, name := range []string{
		"api_key", "api-key", "apikey", "X-Api-Key", "access_token", "refresh-token", "auth_token", "ID_TOKEN", "bearer-token", "client_secret",
		"app-secret", "secret_key", "secret-access-key", "X-Amz-Security-Token", "cookie", "Set-Cookie", "authorization", "Proxy-Authorization",
	} {
		g.Expect(evidence.Scrub(name+": "+secret)).NotTo(ContainSubstring(secret), name)
	}
	for _, parameter := range []string{"key", "token", "sig", "signature", "auth", "password", "secret"} {
		g.Expect(evidence.Scrub("https://models.example/?n=1&"+parameter+"="+secret)).NotTo(ContainSubstring(secret), parameter)
	}
	for _, form := range []string{
		"sk-", "pk-", "rk-", "fp_", "hf_", "gsk_", "r8_", "nvapi-", "xai-", "key-", "tok_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
		"github_pat_", "glpat-", "xoxb-", "xoxp-", "Bearer ",
	} {
		g.Expect(evidence.Scrub("it was "+form+secret)).NotTo(ContainSubstring(secret), form)
	}
}

// planted is a document that has a text in every place that holds foreign text.
func planted(text string) evidence.Document {
	exchange := func() evidence.Exchange {
		x := evidence.Exchange{Request: text, Answer: text, AnswerBinary: []byte("\xff" + text), Error: text, Header: map[string]string{"Server": text}}
		if name, rest, ok := strings.Cut(text, ": "); ok && !strings.ContainsAny(name, ` {"`) {
			x.Header[name] = rest // the name alone says that the value is a secret
		}
		return x
	}
	sample := func() evidence.Sample {
		finding := []evidence.Finding{{Detail: text}}
		return evidence.Sample{
			Detail: text, Content: text, Structure: finding, Business: finding, Exchange: exchange(), Before: []evidence.Exchange{exchange()},
		}
	}
	quoted := append(value.Encode(text), '\n')
	return evidence.Document{
		Cases:   []evidence.Case{{Rendered: text, Unrenderable: text, Messages: []evidence.Message{{Content: text}}, Expected: quoted}},
		Samples: []evidence.Sample{sample()}, Calls: []evidence.Sample{sample()},
	}
}

func TestScrubLeavesPlainTextAlone(t *testing.T) {
	for _, text := range []string{
		"The bearer of this letter has a basic understanding of the task-force-agreement.",
		`{"total": 12.50, "key": "invoice-7", "note": "סה\"כ: 12"}`,
		"https://models.example/v1/chat/completions?n=1#key",
		"risk-assessment-of-the-whole-department",
		"mail me@models.example about token counts: 12",
	} {
		NewWithT(t).Expect(evidence.Scrub(text)).To(Equal(text))
	}
}

func TestScrubRecord(t *testing.T) {
	g := NewWithT(t)
	leak := []certification.Finding{{Reason: "r", Detail: "sk-0123456789abcdef0123"}}
	before := certification.Record{
		Dimensions: []certification.Dimension{{Findings: leak}}, Cases: []certification.CaseFigures{{Findings: leak}}, Warnings: leak,
		Parts: map[string]string{"profile: base_url": "https://me:hidden@models.example/v1"},
	}
	after := evidence.ScrubRecord(before)
	clean := []certification.Finding{{Reason: "r", Detail: evidence.Redacted}}
	g.Expect(after.Dimensions[0].Findings).To(Equal(clean))
	g.Expect(after.Cases[0].Findings).To(Equal(clean))
	g.Expect(after.Warnings).To(Equal(clean))
	g.Expect(after.Parts).To(Equal(map[string]string{"profile: base_url": "https://[redacted]@models.example/v1"}))
	g.Expect(before.Parts["profile: base_url"]).To(ContainSubstring("hidden"))
	g.Expect(leak[0].Detail).To(HavePrefix("sk-"), "the record that was given is not touched")
}
