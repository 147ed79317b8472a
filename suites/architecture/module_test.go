package architecture

import (
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// imports is a package, named by its folder within the module, and all that its files import.
type imports struct {
	name       string
	production []string
	tests      []string
}

// moduleRoot is the closest folder above this one that holds a go.mod.
func moduleRoot() (string, error) {
	at, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(at, "go.mod")); missing == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			err = errors.New("no go.mod above the working folder")
		}
		at = filepath.Dir(at)
	}
	return "", err
}

// readModule returns the packages below root. An import of one of them by another appears without the module's path.
func readModule(root, module string) ([]imports, error) {
	byName := map[string]*imports{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && ignored(entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		found, err := importsOf(path, module)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		name := filepath.ToSlash(folder)
		if byName[name] == nil {
			byName[name] = &imports{name: name}
		}
		if strings.HasSuffix(path, "_test.go") {
			byName[name].tests = append(byName[name].tests, found...)
		} else {
			byName[name].production = append(byName[name].production, found...)
		}
		return nil
	})
	packages := make([]imports, 0, len(byName))
	for _, p := range byName {
		packages = append(packages, imports{p.name, distinct(p.production), distinct(p.tests)})
	}
	slices.SortFunc(packages, func(a, b imports) int { return strings.Compare(a.name, b.name) })
	return packages, err
}

// ignored says which folders go itself takes no packages from.
func ignored(folder string) bool {
	return folder == "testdata" || folder == "vendor" || strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_")
}

func importsOf(path, module string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		found = append(found, strings.TrimPrefix(imported, module+"/"))
	}
	return found, nil
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
