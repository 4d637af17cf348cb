package kubectl

import (
	"os/exec"
	"syscall"
)

// endWithTest makes the kernel end cmd when the test's process ends in a way that lets it end nothing itself, as it
// does when a test times out. It must be called before cmd starts.
func endWithTest(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
