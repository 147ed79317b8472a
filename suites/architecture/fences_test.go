package architecture

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// fences judges packages by the tables.
type fences struct {
	order []row
	holds []hold
}

// breaches returns what the packages do that the tables forbid, one line each.
func (f fences) breaches(packages []imports) []string {
	var found []string
	for _, p := range packages {
		at := f.place(p.name)
		if at < 0 {
			found = append(found, p.name+" has no place in the order of packages: add it to the table, with its job")
			continue
		}
		for _, imported := range p.production {
			found = append(found, f.inProduction(p.name, at, imported)...)
		}
		for _, imported := range p.tests {
			found = append(found, f.inATest(p.name, at, imported)...)
		}
	}
	return found
}

// inProduction judges an import by code that ends up in the binary, or by a package made for tests.
func (f fences) inProduction(name string, at int, imported string) []string {
	var found []string
	breach := func(format string, arguments ...any) {
		found = append(found, name+" imports "+imported+", "+fmt.Sprintf(format, arguments...))
	}
	importer := f.order[at]
	if to := f.place(imported); to >= 0 {
		switch {
		case to == at:
			breach("which stands on the same step: neither may know the other")
		case to > at:
			breach("which stands below it")
		case !f.admits(f.order[to].use, name, importer.use):
			breach("which is not for production code")
		}
		return found
	}
	if importer.pure && slices.Contains(outside, imported) {
		breach("and is to work without the outside world")
	}
	if library := under(testLibraries, imported); library != "" && importer.use != inTests && !isSuite(name) {
		breach("and %s belongs in tests", library)
	}
	if held := f.holdOn(imported); held != nil && !isCommand(name) && !slices.Contains(held.by, name) {
		breach("which is for %s: %s", strings.Join(held.by, ", "), held.why)
	}
	return found
}

// inATest judges an import by a test file. Tests keep to the order too, and may use what is made for tests, wherever it stands.
func (f fences) inATest(name string, at int, imported string) []string {
	to := f.place(imported)
	switch {
	case to < 0 || imported == name || to < at && f.order[to].use != ended:
		return nil
	case to < at && (isCommand(name) || isSuite(name)):
		return nil
	case f.order[to].use == inTests || f.order[to].use == simulated:
		return nil
	default:
		return []string{"a test of " + name + " imports " + imported + ", which stands below it, beside it or at the end"}
	}
}

// admits says whether production code of the importer may use a package that stands above it.
func (f fences) admits(wanted use, importer string, its use) bool {
	switch wanted {
	case inTests:
		return its == inTests || isSuite(importer) || importer == "service/store/storetest/pgcluster/with"
	case simulated:
		return its == inTests || isSuite(importer) || isCommand(importer)
	case ended:
		return isCommand(importer) || isSuite(importer)
	default:
		return true
	}
}

// place is the step on which a package stands, or -1.
func (f fences) place(name string) int {
	step := func(entry string) int {
		return slices.IndexFunc(f.order, func(r row) bool { return slices.Contains(r.packages, entry) })
	}
	if at := step(name); at >= 0 {
		return at
	}
	return step(path.Dir(name) + "/*")
}

// holdOn is the closest hold on a library: one on a part of it comes before one on the whole.
func (f fences) holdOn(imported string) *hold {
	var closest *hold
	for i, h := range f.holds {
		if within(h.library, imported) && (closest == nil || len(h.library) > len(closest.library)) {
			closest = &f.holds[i]
		}
	}
	return closest
}

func isSuite(name string) bool   { return strings.HasPrefix(name, "suites/") }
func isCommand(name string) bool { return strings.HasPrefix(name, "cmd/") }

func under(libraries []string, imported string) string {
	for _, library := range libraries {
		if within(library, imported) {
			return library
		}
	}
	return ""
}

func within(library, imported string) bool {
	return imported == library || strings.HasPrefix(imported, library+"/")
}
