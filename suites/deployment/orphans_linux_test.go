package deployment

import "syscall"

// endsWithUs has the kernel send a child the signal when the suite's process is gone, however that came.
func endsWithUs(signal syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: signal}
}
