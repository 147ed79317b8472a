package certify_test

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	. "github.com/onsi/gomega"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/suites/certify"
)

// meets validates a text against a schema that is shipped.
func meets(t *testing.T, path string, text []byte) error {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat = true
	schema, err := compiler.Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return schema.Validate(document)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// mixed is a run with a pair of every verdict, and the files that it leaves.
func (w *world) mixed(failing bool) (certify.Options, certify.Result) {
	w.t.Helper()
	folder := w.t.TempDir()
	options := w.options()
	options.RunName, options.FilterFailing = "mixed", failing
	options.JSON, options.HTML, options.Markdown = filepath.Join(folder, "r.json"), filepath.Join(folder, "r.html"), filepath.Join(folder, "r.md")
	options.JUnit = filepath.Join(folder, "r.xml")
	options.Pairs = []certify.Pair{
		w.pair("support-triage", "faithful"), w.pair("support-triage", "plausible"), w.pair("support-triage", "overloaded"),
		w.pair("support-triage", "footnote"), w.pair("invoice-extraction", "faithful"), w.pair("meeting-actions", "empty-choices"),
	}
	result, err := certify.Conclude(w.t.Context(), options)
	if err != nil {
		w.t.Fatal(err)
	}
	return options, result
}

func TestReportsOfARun(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	options, result := w.mixed(false)
	g.Expect([]int{result.Certified, result.Rejected, result.Inconclusive}).To(Equal([]int{2, 3, 1}))
	g.Expect(meets(t, "certify.schema.json", read(t, options.JSON))).To(Succeed())
	html, markdown := string(read(t, options.HTML)), string(read(t, options.Markdown))
	for _, text := range []string{html, markdown} {
		g.Expect(text).To(ContainSubstring("certification run mixed"))
		g.Expect(text).To(ContainSubstring("2 certified, 3 rejected, 1 inconclusive"))
		g.Expect(text).To(ContainSubstring("category, urgency and language are the expected ones"))
		g.Expect(text).To(ContainSubstring("trailing_bytes"))
	}
	g.Expect(html).To(MatchRegexp(`<mark><sup>1</sup>[^<]+</mark>`), "what is wrong is marked in the answer")
	g.Expect(html).To(ContainSubstring(`dir="auto"`))

	// The run again: nobody is called, and the reports of the records say so.
	again, err := certify.Conclude(t.Context(), options)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Remarks).To(HaveLen(6))
	g.Expect(meets(t, "certify.schema.json", read(t, options.JSON))).To(Succeed())
	g.Expect(string(read(t, options.HTML))).To(ContainSubstring("nothing was called now"))
}

func TestReportsOfWhatFailsAlone(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	options, result := w.mixed(true)
	text := read(t, options.JSON)
	g.Expect(meets(t, "certify.schema.json", text)).To(Succeed())
	var document struct {
		Filtered  bool                   `json:"filtered"`
		Certified int                    `json:"certified"`
		Records   []certification.Record `json:"records"`
	}
	g.Expect(json.Unmarshal(text, &document)).To(Succeed())
	g.Expect(document.Filtered).To(BeTrue())
	g.Expect(document.Certified).To(Equal(2), "the counts are of the whole run")
	g.Expect(document.Records).To(HaveLen(4))
	g.Expect(result.Records).To(HaveLen(6))
	for _, path := range []string{options.HTML, options.Markdown} {
		shown := string(read(t, path))
		g.Expect(shown).To(ContainSubstring("2 certified not shown"))
		g.Expect(shown).NotTo(ContainSubstring("sim/faithful"))
		g.Expect(shown).To(ContainSubstring("sim/plausible"))
	}
}

// failures are the tests that a build server counts as failed, by what they are of, and all tests.
func failures(t *testing.T, path string) (failed []string, tests int) {
	t.Helper()
	var file struct {
		Cases []struct {
			Class   string    `xml:"classname,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
		} `xml:"testsuite>testcase"`
	}
	NewWithT(t).Expect(xml.Unmarshal(read(t, path), &file)).To(Succeed())
	for _, c := range file.Cases {
		if c.Failure != nil || c.Error != nil {
			failed = append(failed, c.Class)
		}
	}
	return failed, len(file.Cases)
}

// A provider that is down reddens no build; a rejection does, once for each dimension that failed.
func TestJUnitOfARun(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	options, _ := w.mixed(false)
	failed, tests := failures(t, options.JUnit)
	g.Expect(tests).To(Equal(6 * 4))
	g.Expect(failed).NotTo(ContainElement(ContainSubstring("overloaded")))
	g.Expect(slices.Compact(slices.Sorted(slices.Values(failed)))).To(Equal([]string{
		"meeting-actions at sim/empty-choices", "support-triage at sim/footnote", "support-triage at sim/plausible",
	}))
	options, _ = newWorld(t).mixed(true)
	again, tests := failures(t, options.JUnit)
	g.Expect(tests).To(Equal(4 * 4))
	g.Expect(again).To(Equal(failed))
}

// The schema is a description: it names every member, and refuses what is not one.
func TestTheSchemaRefusesWhatIsNotWritten(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	options, _ := w.mixed(false)
	text := string(read(t, options.JSON))
	for _, row := range [][2]string{
		{`"verdict": "rejected"`, `"verdict": "refused"`}, {`"planned"`, `"plan"`}, {`"lapsed": 0`, `"lapsed": -1`},
		{`"filtered": false,`, ``}, {`"certified": 2`, `"certified": "2"`},
	} {
		changed := strings.Replace(text, row[0], row[1], 1)
		g.Expect(changed).NotTo(Equal(text), row[0])
		g.Expect(meets(t, "certify.schema.json", []byte(changed))).NotTo(Succeed(), row[0])
	}
}

func TestEvidenceMeetsItsSchema(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	for _, model := range []string{"faithful", "plausible", "overloaded", "footnote", "unauthorized", "half-body", "byte-order-mark"} {
		_, kept, text := w.withEvidence(w.pair("support-triage", model), w.options())
		g.Expect(meets(t, "../../contracts/evidence/evidence.schema.json", []byte(text))).To(Succeed(), model)
		g.Expect(kept.Format).To(Equal(evidence.Format))
		_, err := value.Decode([]byte(text))
		g.Expect(err).NotTo(HaveOccurred())
	}
}
