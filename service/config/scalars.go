package config

import (
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
)

// text is a non-empty text. A number or a boolean is not one: whoever means it writes quotes.
func (r *reader) text(f field, fallback string) string {
	if !f.present() {
		return fallback
	}
	var text string
	switch node := f.node.(type) {
	case *ast.StringNode:
		text = node.Value
	case *ast.LiteralNode:
		text = strings.TrimSuffix(node.Value.Value, "\n")
	case nil, *ast.NullNode:
		r.fail(f.line, "%s has no value", f.name)
		return fallback
	default:
		r.fail(f.line, "%s: want a text", f.name)
		return fallback
	}
	if strings.TrimSpace(text) == "" {
		r.fail(f.line, "%s is empty", f.name)
	}
	return text
}

func (r *reader) word(f field, fallback string, allowed ...string) string {
	word := r.text(f, fallback)
	if f.present() && r.err == nil && !slices.Contains(allowed, word) {
		r.fail(f.line, "%s: %q is not possible; want one of %s", f.name, word, strings.Join(allowed, ", "))
	}
	return word
}

func (r *reader) duration(f field, fallback time.Duration) time.Duration {
	if !f.present() {
		return fallback
	}
	written := "" // a number is no duration: it has no unit
	if node, ok := f.node.(*ast.StringNode); ok {
		written = node.Value
	}
	duration, err := contracts.ParseDuration(written, "30s or 10m")
	if err != nil {
		r.fail(f.line, "%s: %v", f.name, err)
	}
	return duration
}

// integer is a plain decimal of at least 1.
func (r *reader) integer(f field, fallback, most int) int {
	if !f.present() {
		return fallback
	}
	n := 0
	if node, ok := f.node.(*ast.IntegerNode); ok {
		n, _ = strconv.Atoi(node.Token.Value)
	}
	if n < 1 || n > most {
		r.fail(f.line, "%s: want a whole number from 1 to %d", f.name, most)
	}
	return n
}

func (r *reader) boolean(f field) bool {
	if !f.present() {
		return false
	}
	node, ok := f.node.(*ast.BoolNode)
	if !ok {
		r.fail(f.line, "%s: want true or false", f.name)
		return false
	}
	return node.Value
}

var byteUnits = []struct {
	suffix string
	size   int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"B", 1}, {"", 1}}

const mostBody = 1 << 30

// bytes is a size such as 262144, 256KiB or 1MiB.
func (r *reader) bytes(f field, fallback int64) int64 {
	if !f.present() {
		return fallback
	}
	literal := ""
	switch node := f.node.(type) {
	case *ast.IntegerNode:
		literal = node.Token.Value
	case *ast.StringNode:
		literal = node.Value
	}
	for _, unit := range byteUnits {
		number, found := strings.CutSuffix(literal, unit.suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err == nil && n >= 1 && n <= mostBody/unit.size {
			return n * unit.size
		}
		break
	}
	r.fail(f.line, "%s: want a size from 1 to 1024MiB, such as 262144, 256KiB or 1MiB", f.name)
	return fallback
}

// address is HOST:PORT; an empty host means all interfaces, port 0 a free one.
func (r *reader) address(f field, fallback string) string {
	address := r.text(f, fallback)
	if !f.present() {
		return address
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		r.fail(f.line, "%s: want HOST:PORT, such as %s", f.name, DefaultListen)
	}
	return address
}

// path resolves a relative path at the file's own folder, so that it means the same from everywhere.
func (r *reader) path(f field) string {
	return r.resolve(r.text(f, ""))
}

func (r *reader) resolve(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(r.file), path)
}

func (r *reader) target(f field) providers.Target {
	text := r.text(f, "")
	if text == "" {
		return providers.Target{}
	}
	target, err := providers.ParseTarget(text)
	if err != nil {
		r.fail(f.line, "%s: %v", f.name, err)
	}
	return target
}

// storeURL only looks at the scheme, and errors never repeat the URL: it may hold a password.
func storeURL(url string) bool {
	for _, scheme := range []string{"sqlite:", "postgres://", "postgresql://"} {
		if rest, ok := strings.CutPrefix(url, scheme); ok && rest != "" {
			return true
		}
	}
	return false
}
