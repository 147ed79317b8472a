package circuit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/circuit"
)

// table is the one of the package's documentation, in which every reason has its row.
var table = []struct {
	reason  string
	verdict providers.Verdict
	want    circuit.Result
}{
	{"succeeded", providers.Succeeded, circuit.Success},
	{"truncated", providers.Failed, circuit.Success},
	{"refused", providers.Failed, circuit.Success},
	{"contract_violation", providers.Failed, circuit.Success},
	{"not_sent", providers.Failed, circuit.Failure},
	{"timeout", providers.InDoubt, circuit.Failure},
	{"connection_lost", providers.InDoubt, circuit.Failure},
	{"gateway_timeout", providers.InDoubt, circuit.Failure},
	{"server_error", providers.InDoubt, circuit.Failure},
	{"rate_limited", providers.Failed, circuit.Failure},
	{"malformed", providers.Failed, circuit.Failure},
	{"redirect", providers.Failed, circuit.Failure},
	{"unauthorized", providers.Failed, circuit.Failure},
	{"rejected", providers.Failed, circuit.Neither},
	{"unmappable", providers.Failed, circuit.Neither},
}

func TestResultOfEveryOutcome(t *testing.T) {
	documentation, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, line := range strings.Split(string(documentation), "\n") {
		if fields := strings.Fields(strings.TrimPrefix(line, "//\t")); strings.HasPrefix(line, "//\t") && len(fields) > 2 {
			documented[fields[0]] = fields[1]
		}
	}
	delete(documented, "outcome") // the head of the table
	for _, row := range table {
		t.Run(row.reason, func(t *testing.T) {
			g := gomega.NewWithT(t)
			outcome := providers.Outcome{Verdict: row.verdict, Reason: providers.Reason(row.reason)}
			if row.verdict == providers.Succeeded {
				outcome.Reason = providers.ReasonNone
			}
			g.Expect(circuit.ResultOf(outcome)).To(gomega.Equal(row.want))
			g.Expect(documented).To(gomega.HaveKeyWithValue(row.reason, row.want.String()))
		})
		delete(documented, row.reason)
	}
	gomega.NewWithT(t).Expect(documented).To(gomega.BeEmpty(), "documented, but not tested")
}

// A 500 that the configuration takes for a definite failure is one of the target all the same.
func TestResultDoesNotHangOnTheVerdictOfAKnownReason(t *testing.T) {
	outcome := providers.Outcome{Verdict: providers.Failed, Reason: providers.ReasonServerError, Retryable: true}
	gomega.NewWithT(t).Expect(circuit.ResultOf(outcome)).To(gomega.Equal(circuit.Failure))
}

func TestResultOfAReasonThatTheTableDoesNotKnow(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect(circuit.ResultOf(providers.Outcome{Verdict: providers.InDoubt, Reason: "new"})).To(gomega.Equal(circuit.Failure))
	g.Expect(circuit.ResultOf(providers.Outcome{Verdict: providers.Failed, Reason: "new"})).To(gomega.Equal(circuit.Neither))
	g.Expect(circuit.ResultOf(providers.Outcome{})).To(gomega.Equal(circuit.Neither))
}

// Whoever adds a reason decides here what it says about its target.
func TestTheTableHasARowForEveryReason(t *testing.T) {
	g := gomega.NewWithT(t)
	rows := map[string]bool{"": true} // ReasonNone: succeeded
	for _, row := range table {
		rows[row.reason] = true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../../providers/outcome.go", nil, 0)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	found := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Reason" {
			return true
		}
		for _, value := range spec.Values {
			literal, ok := value.(*ast.BasicLit)
			g.Expect(ok).To(gomega.BeTrue())
			reason, err := strconv.Unquote(literal.Value)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(rows).To(gomega.HaveKey(reason))
			found++
		}
		return true
	})
	g.Expect(found).To(gomega.BeNumerically(">=", 14), "the reasons were not found where they used to stand")
}
