package value

import (
	"errors"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
)

// plainWords are what people read in place of what the parser says; the first row fits whose words its
// message holds.
var plainWords = []struct{ said, plain string }{
	{`'\t'`, "a tab stands here: YAML is indented with spaces"},
	{"\t", "a tab stands here: YAML is indented with spaces"},
	{"non-map value is specified", `this is no "key: value": a colon is missing, or the space after it`},
	{"unexpected key name", `this is no "key: value": a colon is missing, here or in the line above`},
	{"value is not allowed in this context", "this does not fit what stands above: look at the indentation; a text that holds \": \" has to stand in quotes"},
	{"does not have a corresponding", "a bracket is closed that was not opened"},
	{"could not find '", "a bracket is closed that was not opened"},
	{"must be specified", "a comma is missing, or the bracket before it is not closed"},
	{"end token", "a bracket is opened here and not closed"},
	{"-quoted text", "a quotation mark is opened here and not closed"},
	{"is a reserved character", "this character means something in YAML: put the text in quotes"},
	{"could not find alias", "a text that begins with * refers to something named with &, which is not there: put the text in quotes"},
	{"could not find value for mapping key", "a key stands here without a colon and a value"},
}

var repeatedKey = regexp.MustCompile(`^mapping key ("(?:[^"\\]|\\.)*") already defined at \[(\d+):\d+\]$`)

// YAMLSyntax takes line and message out of an error of the YAML library, whose own text spans many lines and
// speaks of its insides. The line is 0 where it is not known.
func YAMLSyntax(err error) (line int, message string) {
	message = err.Error()
	var positioned yaml.Error
	if errors.As(err, &positioned) {
		message = positioned.GetMessage()
		if token := positioned.GetToken(); token != nil {
			line = token.Position.Line
		}
	}
	message, _, _ = strings.Cut(message, "\n")
	if again := repeatedKey.FindStringSubmatch(message); again != nil {
		return line, "key " + again[1] + " stands here twice, first in line " + again[2]
	}
	for _, row := range plainWords {
		if strings.Contains(message, row.said) {
			return line, row.plain
		}
	}
	return line, message
}
