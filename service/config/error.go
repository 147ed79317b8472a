package config

import "fmt"

// Error is what is wrong with a configuration, and where.
type Error struct {
	File    string
	Line    int // 0 = the whole file
	Message string
}

func (e *Error) Error() string {
	switch {
	case e.File == "":
		return e.Message
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	default:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
}
