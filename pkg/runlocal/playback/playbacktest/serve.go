// Package playbacktest serves recordings to tests: clients see what a cluster once had, at the end of the recording
// ([Serve]) or as the test plays it ([Start]). A recording that `kubectl reconcile record` has written becomes a file
// of the test. The API server runs in the process of the test.
//
// To compare what a controller writes with what was recorded, see package compare beside package playback, or
// `kubectl reconcile replay FILE --serve -- COMMAND`.
package playbacktest

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
)

// Serve serves a recording until the test ends, as it was at its end, and returns the configuration of a client.
// Clients can read only.
func Serve(t testing.TB, file string) *rest.Config {
	t.Helper()
	return Start(t, file, playback.Options{}).Config()
}

// Start serves a recording with options until the test ends. The server is paused: the test plays it by Step, Seek or
// Play.
func Start(t testing.TB, file string, o playback.Options) *playback.Server {
	t.Helper()
	recording := open(t, file)
	s, err := playback.Start(context.WithoutCancel(t.Context()), recording, o)
	if err != nil {
		t.Fatalf("serving %q: %v", file, err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("ending the server of %q: %v", file, err)
		}
	})
	return s
}

// open returns the recording in a file, which is closed after all that the test starts later has ended.
func open(t testing.TB, path string) replay.Recording {
	t.Helper()
	recording, err := replay.OpenFile(path, replay.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := recording.Close(); err != nil {
			t.Error(err)
		}
	})
	return recording
}
