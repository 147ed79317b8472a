package contracts

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts/value"
)

// readCases reads every *.yaml directly in the folder that the key cases names. Any other file there
// is refused: a case that was meant to be judged must not be left out for the way it is spelled.
func readCases(c *Contract, doc *document, source *yamlSource) error {
	folder := strings.TrimSuffix(doc.Cases, "/")
	if !fs.ValidPath(folder) || folder == "." {
		return source.fault("$.cases", "cases %q: want the path of a folder inside the contract's folder", doc.Cases)
	}
	prefix, root := folder+"/", path.Dir(source.file)
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		label := path.Join(root, name)
		if path.Dir(name) != folder || path.Ext(name) != ".yaml" {
			return &FileError{File: label, Message: "only case files, *.yaml, may stand in the folder of cases"}
		}
		read, err := readCase(label, c.files[name])
		if err != nil {
			return err
		}
		if other, ok := seen[read.Name]; ok {
			return &FileError{File: label, Message: "case \"" + read.Name + "\" stands in " + other + " already"}
		}
		seen[read.Name], read.File = name, name
		c.Cases = append(c.Cases, read)
	}
	if len(c.Cases) == 0 {
		return source.fault("$.cases", "no case in %s: a contract without cases proves nothing", prefix)
	}
	return nil
}

func readCase(label string, content []byte) (Case, error) {
	source, err := parseYAML(label, content)
	if err != nil {
		return Case{}, err
	}
	decoded, err := value.FromYAML(source.body)
	if err != nil {
		return Case{}, valueFault(label, err)
	}
	fields, ok := decoded.(map[string]any)
	if !ok {
		return Case{}, &FileError{File: label, Line: 1, Message: "a case is a mapping of name, input and expected"}
	}
	read := Case{}
	for key, field := range fields {
		var fits bool
		switch key {
		case "name":
			read.Name, fits = field.(string)
		case "input":
			read.Input, fits = field.(map[string]any)
		case "expected":
			read.Expected, fits = field.(map[string]any)
		default:
			return Case{}, source.fault("$."+key, "unknown key %q: a case has name, input and expected", key)
		}
		if !fits {
			want := map[string]string{
				"name": "a text", "input": "a mapping", "expected": "a mapping, or leave it out where no answer is known to be the right one",
			}
			return Case{}, source.fault("$."+key, "%s: want %s", key, want[key])
		}
	}
	switch {
	case read.Name == "":
		return Case{}, &FileError{File: label, Line: 1, Message: "a case needs a name"}
	case read.Input == nil:
		return Case{}, &FileError{File: label, Line: 1, Message: "a case needs an input"}
	}
	return read, nil
}

func valueFault(label string, err error) error {
	fault := &FileError{File: label, Message: err.Error()}
	var yamlError *value.YAMLError
	if errors.As(err, &yamlError) {
		fault.Line, fault.Message = yamlError.Line, yamlError.Detail
	}
	return fault
}
