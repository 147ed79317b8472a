package business_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/business"
)

func TestPlacesThatAreRead(t *testing.T) {
	for expression, want := range map[string][]string{
		"true":                                   nil,
		"output.a.b == expected.c":               {"output/a", "output/a/b", "expected/c"},
		"has(output.a.b)":                        {"output/a", "output/a/b"},
		"output.a > 1 || output.b > 1":           {"output/a", "output/b"},
		"input.a ? output.b : output.c == 1.5":   {"input/a", "output/b", "output/c"},
		`output["a"]["b/c"] == output.list[0].x`: {"output/a", "output/a/b~1c", "output/list", "output/list/*", "output/list/*/x"},
		"output.list[input.n].x == 1 && output[input.key].y == 1":                                                                  {"output/list", "input/n", "input/key"},
		"output.list.all(i, i.x > 0 && i.inner.exists(j, j.y == i.z))":                                                             {"output/list", "output/list/*/x", "output/list/*/inner", "output/list/*/inner/*/y", "output/list/*/z"},
		"output.list.filter(i, i.x > 0).all(j, j.y > 0)":                                                                           {"output/list", "output/list/*/x", "output/list/*/y"},
		"output.list.filter(i, i.x > 0).filter(i, i.y > 0)[0].z > 0":                                                               {"output/list", "output/list/*/x", "output/list/*/y", "output/list/*", "output/list/*/z"},
		"output.list.map(i, i.x).all(j, j.y > 0)":                                                                                  {"output/list", "output/list/*/x"},
		"output.list.map(i, {'k': i.x, 'l': [i.y]}).all(j, j.k > 0)":                                                               {"output/list", "output/list/*/x", "output/list/*/y"},
		"output.list.exists_one(input, input.x > 0) && input.y == 1":                                                               {"output/list", "output/list/*/x", "input/y"},
		"sum(output.list.map(i, round(i.x * i.y, 2))) == -output.total && lower(output.name).contains(input.name) && !(output.ok)": {"output/list", "output/list/*/x", "output/list/*/y", "output/total", "output/name", "input/name", "output/ok"},
		"output.lines.size() == 2 && output.lines in [expected.lines]":                                                             {"output/lines", "expected/lines"},
		"sameSet(output.list, expected == null ? [] : expected.list)":                                                              {"output/list", "expected/list"},
	} {
		read, err := business.Places(contracts.Check{Name: "one", Expr: expression})
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred(), expression)
		var got []string
		for _, place := range read {
			got = append(got, place.Of+place.Path)
		}
		g.Expect(got).To(Equal(want), expression)
	}
	_, err := business.Places(contracts.Check{Name: "one", Expr: "output."})
	NewWithT(t).Expect(err).To(BeAssignableToTypeOf(&business.CheckError{}))
}
