package chaos

import (
	"fmt"
	"os"
)

// filesOf counts the files and sockets that a process has open.
func filesOf(pid int) (int, error) {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(open), err
}
