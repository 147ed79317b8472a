package main

import (
	"strings"
	"unicode/utf8"
)

// cell is one cell of a table, with how it is painted on a terminal.
type cell struct {
	text  string
	style style
}

// painted is a table whose columns are wide enough for what is seen: paint takes no room.
func (p *program) painted(headings []string, rows [][]cell) string {
	widths := make([]int, len(headings))
	for i, heading := range headings {
		widths[i] = utf8.RuneCountInString(heading)
	}
	for _, row := range rows {
		for i := range row {
			if row[i].text = visible(row[i].text); row[i].text == "" {
				row[i].text = "-"
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	var text strings.Builder
	write := func(i int, plainText, painted string) {
		text.WriteString(painted)
		if i < len(headings)-1 { // no white space at the ends of lines
			text.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(plainText)+2))
			return
		}
		text.WriteString("\n")
	}
	for i, heading := range headings {
		write(i, heading, p.paint(strong, heading))
	}
	for _, row := range rows {
		for i, c := range row {
			painted := c.text
			if c.style != "" && c.style != plain {
				painted = p.paint(c.style, c.text)
			}
			write(i, c.text, painted)
		}
	}
	return text.String()
}
