package controllerruntime

import (
	"os/exec"
	"syscall"
)

// endWithParent ends the sandbox when the test process dies without running its cleanups, as after `go test -timeout`.
// The signal is sent when the thread that started it ends, which a Go thread does with the process only.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
