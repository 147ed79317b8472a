package contracts

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"reflect"
	"regexp"
	"time"

	"github.com/fallproof/fallproof/providers"
)

// Load reads the contract folder dir of fsys. Its errors are *[FileError].
func Load(fsys fs.FS, dir string) (*Contract, error) {
	files, err := readFolder(fsys, dir)
	if err != nil {
		return nil, err
	}
	unquoted, err := checkShape(dir, files[contractFile])
	if err != nil {
		return nil, err
	}
	c, err := fromFiles(dir, files)
	if err == nil {
		err = unquoted
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// checkShape is for folders alone: a contract that was stored before is read as it was then.
func checkShape(dir string, content []byte) (unquoted, err error) {
	if content == nil {
		return nil, nil
	}
	source, err := parseYAML(path.Join(dir, contractFile), content)
	if err != nil {
		return nil, err
	}
	err = source.shape(source.body, "a contract", reflect.TypeFor[document]())
	return source.unquoted, err
}

const contractFile = "contract.yaml"

const defaultSamples = 5

// MostSamples is the most that a contract, or a run of it, may ask of each case.
const MostSamples = 10_000

// namePattern is what a contract may be called: it becomes part of URLs and of the schema's name on
// the wire, which providers limit to 64 such characters.
var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// ValidName reports whether a contract may be called so.
func ValidName(name string) bool { return namePattern.MatchString(name) }

// fromFiles builds a contract from the content of its folder; dir only prefixes file names in errors.
func fromFiles(dir string, files map[string][]byte) (*Contract, error) {
	content, ok := files[contractFile]
	if !ok {
		return nil, &FileError{File: path.Join(dir, contractFile), Message: "missing: a contract folder holds contract.yaml, a schema and cases"}
	}
	source, err := parseYAML(path.Join(dir, contractFile), content)
	if err != nil {
		return nil, err
	}
	var doc document
	if err := source.decode(&doc); err != nil {
		return nil, err
	}
	c := &Contract{Name: doc.Name, SchemaName: doc.Name, UnwrapFence: doc.UnwrapFence, files: files, source: source}
	for _, step := range []func(*Contract, *document, *yamlSource) error{
		readIdentity, readRequire, readMessages, readSampling, readChecks, readThresholds, readMutation, readSchema, readCases,
	} {
		if err := step(c, &doc, source); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func readIdentity(c *Contract, doc *document, source *yamlSource) (err error) {
	if !ValidName(doc.Name) {
		return source.fault("$.name", "name %q: want lower-case letters, digits and hyphens, at most 64", doc.Name)
	}
	switch c.Effects = Effects(doc.Effects); c.Effects {
	case "":
		c.Effects = EffectsExternal
	case EffectsExternal, EffectsIdempotent, EffectsNone:
	default:
		return source.fault("$.effects", "effects %q: want external, idempotent or none", doc.Effects)
	}
	if c.ReleaseAfter, err = source.duration("$.release_after", doc.ReleaseAfter); err != nil {
		return err
	}
	if c.ReleaseAfter != 0 && c.Effects != EffectsNone {
		return source.fault("$.release_after", "release_after is only possible with effects: none")
	}
	if c.ValidFor, err = source.duration("$.valid_for", doc.ValidFor); err != nil {
		return err
	}
	if c.ValidFor == 0 {
		return source.fault("$.valid_for", "valid_for is missing: how long a certification counts, e.g. 168h")
	}
	return nil
}

func readRequire(c *Contract, doc *document, source *yamlSource) error {
	for i, word := range doc.Require {
		at := fmt.Sprintf("$.require[%d]", i)
		switch {
		case word != RequireTokens && word != RequireEnforcement:
			return source.fault(at, "require %q: want %s or %s", word, RequireTokens, RequireEnforcement)
		case c.Requires(word):
			return source.fault(at, "require %q stands here twice", word)
		}
		c.Require = append(c.Require, word)
	}
	return nil
}

func readMessages(c *Contract, doc *document, source *yamlSource) (err error) {
	if c.Messages, err = source.messages("$.messages", doc.Messages); err != nil {
		return err
	}
	c.Variants = map[string][]providers.Message{}
	for name, variant := range doc.Variants {
		at := fmt.Sprintf("$.variants.'%s'", name)
		if _, err := providers.ParseTarget(name); err != nil {
			return source.fault(at, "variants: %s", err)
		}
		if c.Variants[name], err = source.messages(at+".messages", variant.Messages); err != nil {
			return err
		}
	}
	return nil
}

func (s *yamlSource) messages(at string, written []message) ([]providers.Message, error) {
	if len(written) == 0 {
		return nil, s.fault(at, "messages are missing")
	}
	messages := make([]providers.Message, len(written))
	for i, m := range written {
		here := fmt.Sprintf("%s[%d]", at, i)
		switch m.Role {
		case "system", "user", "assistant":
		default:
			return nil, s.fault(here, "role %q: want system, user or assistant", m.Role)
		}
		if m.Content == "" {
			return nil, s.fault(here, "message without content")
		}
		messages[i] = providers.Message(m)
	}
	return messages, nil
}

func readSampling(c *Contract, doc *document, source *yamlSource) error {
	c.Sampling = Sampling{Temperature: doc.Sampling.Temperature, Samples: defaultSamples}
	if !(c.Sampling.Temperature >= 0 && c.Sampling.Temperature <= 2) {
		return source.fault("$.sampling.temperature", "temperature %v: want 0 to 2", c.Sampling.Temperature)
	}
	if err := source.whole("samples", doc.Sampling.Samples, MostSamples, &c.Sampling.Samples); err != nil {
		return err
	}
	return source.whole("max_output_tokens", doc.Sampling.MaxOutputTokens, 10_000_000, &c.Sampling.MaxOutputTokens)
}

func (s *yamlSource) whole(name string, written *float64, most float64, into *int) error {
	if written == nil {
		return nil
	}
	if !(*written >= 1 && *written <= most) || *written != math.Trunc(*written) {
		return s.fault("$.sampling."+name, "%s %v: want a whole number from 1 to %.0f, or leave it out", name, *written, most)
	}
	*into = int(*written)
	return nil
}

func readChecks(c *Contract, doc *document, source *yamlSource) error {
	seen := map[string]bool{}
	for i, check := range doc.Checks {
		at := fmt.Sprintf("$.checks[%d]", i)
		switch {
		case check.Name == "":
			return source.fault(at, "check without a name")
		case check.Expr == "":
			return source.fault(at, "check %q without an expr", check.Name)
		case seen[check.Name]:
			return source.fault(at, "check %q stands here twice", check.Name)
		}
		seen[check.Name] = true
		c.Checks = append(c.Checks, Check(check))
	}
	return nil
}

func readThresholds(c *Contract, doc *document, source *yamlSource) error {
	fields := map[string]*float64{
		"prompt": &c.Thresholds.Prompt, "structure": &c.Thresholds.Structure,
		"business": &c.Thresholds.Business, "round_trip": &c.Thresholds.RoundTrip,
	}
	for name, want := range doc.Thresholds {
		field, ok := fields[name]
		if !ok {
			return source.fault("$.thresholds."+name, "threshold %q: want prompt, structure, business and round_trip", name)
		}
		if !(want > 0 && want <= 1) {
			return source.fault("$.thresholds."+name, "threshold %s is %v: want more than 0, at most 1", name, want)
		}
		*field = want
	}
	for _, name := range []string{"prompt", "structure", "business", "round_trip"} {
		if *fields[name] == 0 {
			return source.fault("$.thresholds", "threshold %s is missing", name)
		}
	}
	return nil
}

func readSchema(c *Contract, doc *document, source *yamlSource) error {
	if !fs.ValidPath(doc.Schema) || doc.Schema == "." {
		return source.fault("$.schema", "schema %q: want the path of a file inside the contract's folder", doc.Schema)
	}
	content, ok := c.files[doc.Schema]
	if !ok {
		return source.fault("$.schema", "schema %q: no such file in the contract's folder", doc.Schema)
	}
	c.SchemaFile, c.Schema = doc.Schema, content
	return nil
}

func (s *yamlSource) duration(at, written string) (time.Duration, error) {
	if written == "" {
		return 0, nil
	}
	d, err := ParseDuration(written, "20s or 168h")
	if err != nil {
		return 0, s.fault(at, "%q: %s", written, err)
	}
	return d, nil
}
