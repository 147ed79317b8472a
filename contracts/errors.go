package contracts

import "fmt"

// FileError is a fault of a contract folder, as "FILE:LINE: message".
type FileError struct {
	File    string
	Line    int // 0 = the file as a whole
	Message string
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}
