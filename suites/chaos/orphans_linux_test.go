package chaos

import "syscall"

// endsWithUs has the kernel end a child when the suite's process is gone, however that came: after a time
// limit or a SIGKILL no cleanup runs.
func endsWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
