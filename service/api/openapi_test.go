package api

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/service/config"
)

// described is /openapi.json of a server that nothing stands behind.
func described(t *testing.T) (*Server, map[string]any) {
	t.Helper()
	s := New(Options{Config: &config.Config{}, Version: "1.2.3"})
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	decoded, err := value.Decode(recorder.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return s, decoded.(map[string]any)
}

func TestOpenAPIListsTheRoutesThatExist(t *testing.T) {
	g := gomega.NewWithT(t)
	s, document := described(t)
	var served, described []string
	for _, route := range s.engine.Routes() {
		served = append(served, route.Method+" "+templatePath(route.Path))
	}
	for path, operations := range document["paths"].(map[string]any) {
		for method := range operations.(map[string]any) {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	g.Expect(described).To(gomega.ConsistOf(served))
	g.Expect(document["info"]).To(gomega.HaveKeyWithValue("version", "1.2.3"))
}

func TestEveryReferenceOfOpenAPIResolves(t *testing.T) {
	g := gomega.NewWithT(t)
	_, document := described(t)
	components := document["components"].(map[string]any)["schemas"].(map[string]any)
	used := map[string]bool{}
	walk(document, func(object map[string]any) {
		if reference, ok := object["$ref"].(string); ok {
			name := strings.TrimPrefix(reference, "#/components/schemas/")
			g.Expect(components).To(gomega.HaveKey(name))
			used[name] = true
		}
	})
	g.Expect(sortedKeys(used)).To(gomega.Equal(sortedKeys(components)), "no schema is left over")
}

func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, child := range v {
			walk(child, visit)
		}
	case []any:
		for _, child := range v {
			walk(child, visit)
		}
	}
}

func TestSchemasNameWhatTheViewsWrite(t *testing.T) {
	_, document := described(t)
	components := document["components"].(map[string]any)["schemas"].(map[string]any)
	for name, view := range map[string]any{
		"JobDetail": jobDetail{}, "Doubt": doubtView{}, "NextStep": nextStepView{}, "Waiting": waitingView{}, "TotalUsage": usageView{},
		"DoubtPage": doubtPage{}, "Job": jobView{}, "Failure": failureView{}, "Attempt": attemptView{}, "Event": eventView{},
		"ContractSummary": contractSummary{}, "Contract": contractView{}, "Route": routeView{}, "Target": targetView{},
		"Certification": certificationView{Record: certification.Record{}}, "Evidence": evidence.Document{}, "JobPage": page[jobView]{}, "Status": statusView{}, "Readiness": readinessView{},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			written, err := value.Decode(encode(view))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			schema := components[name].(map[string]any)
			g.Expect(sortedKeys(schema["properties"].(map[string]any))).To(gomega.Equal(sortedKeys(written.(map[string]any))))
			for _, required := range schema["required"].([]any) {
				g.Expect(written).To(gomega.HaveKey(required))
			}
		})
	}
}

func TestEveryProblemIsOfSomeRoute(t *testing.T) {
	g := gomega.NewWithT(t)
	s, _ := described(t)
	answered := []Kind{MethodNotAllowed} // of addresses, not of routes
	for _, route := range s.routes() {
		answered = append(answered, route.problems()...)
	}
	slices.Sort(answered)
	for _, e := range entries {
		g.Expect(answered).To(gomega.ContainElement(e.Kind))
	}
	for _, kind := range answered {
		g.Expect(entryOf).To(gomega.HaveKey(kind))
	}
}

func TestAPanicIsAProblemOfOneRequest(t *testing.T) {
	g := gomega.NewWithT(t)
	s := New(Options{Config: &config.Config{}}) // nothing behind it: asking for a key panics
	recorder := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "/v1/jobs", nil)
	request.Header.Set("Authorization", "Bearer x")
	s.ServeHTTP(recorder, request)
	g.Expect(recorder.Code).To(gomega.Equal(http.StatusInternalServerError))
	g.Expect(recorder.Header().Get("Content-Type")).To(gomega.Equal("application/problem+json"))
	g.Expect(recorder.Body.String()).To(gomega.ContainSubstring("/problems/internal-error"))
	g.Expect(recorder.Body.String()).NotTo(gomega.ContainSubstring("nil pointer"))
}
