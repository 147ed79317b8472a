package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mattn/go-isatty"
)

// style is a way to write a word on a terminal.
type style string

const (
	good   style = "\x1b[32m"
	bad    style = "\x1b[31m"
	doubt  style = "\x1b[33m"
	strong style = "\x1b[1m"
	plain  style = "\x1b[0m"
)

// isTerminal says whether people look at w as it is written.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// paint colours on terminals only, and not where NO_COLOR asks for none.
func (p *program) paint(s style, text string) string {
	if !isTerminal(p.stdout) || p.getenv("NO_COLOR") != "" {
		return text
	}
	return string(s) + text + string(plain)
}

// printJSON is for scripts: one value, indented.
func (p *program) printJSON(v any) error {
	encoded, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return failed(err)
	}
	return p.print(string(encoded) + "\n")
}

// print fails where stdout does: whoever pipes a list into a full disk should know.
func (p *program) print(text string) error {
	if _, err := io.WriteString(p.stdout, text); err != nil {
		return failed(err)
	}
	return nil
}

// table prints rows under headings. Cells are data from elsewhere: nothing in them moves the cursor.
func (p *program) table(headings string, rows [][]string) error {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(strings.Fields(headings), "\t"))
	for _, row := range rows {
		for i, cell := range row {
			if row[i] = visible(cell); row[i] == "" {
				row[i] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return failed(err)
	}
	return p.print(text.String())
}

// visible takes control characters out of text from elsewhere.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
