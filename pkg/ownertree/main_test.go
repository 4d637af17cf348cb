package ownertree_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // upstream's server and garbage collector log much that no test is about
	goleak.VerifyTestMain(sharingMain{m})
}

// sharingMain stops the servers that tests have shared, before goroutines are counted.
type sharingMain struct{ *testing.M }

// Run implements goleak.TestingM.
func (m sharingMain) Run() int {
	code := m.M.Run()
	for name, server := range shared.servers {
		if err := server.Stop(); err != nil {
			fmt.Fprintf(os.Stderr, "stopping the server of %s: %v\n", name, err)
			code = max(code, 1)
		}
	}
	return code
}

// shared has a server for each set of objects that several tests only read.
var shared struct {
	sync.Mutex
	servers map[string]*api.Server
}

// sharedSandbox is a sandbox with the objects that fill creates, which the test must not change. Tests that give the
// same name share the server.
func sharedSandbox(t *testing.T, name string, fill func(*sandbox)) *sandbox {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if server := shared.servers[name]; server != nil {
		return newSandbox(t, server)
	}
	server, err := api.Start(context.WithoutCancel(t.Context()), api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if shared.servers == nil {
		shared.servers = map[string]*api.Server{}
	}
	shared.servers[name] = server
	s := newSandbox(t, server)
	fill(s)
	return s
}
