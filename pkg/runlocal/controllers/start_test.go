package controllers

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// startAt starts controllers against a server that is not there.
func startAt(ctx context.Context, t *testing.T, cs []Controller) error {
	t.Helper()
	tapped := tap.New(tap.Options{})
	config := &rest.Config{Host: "http://127.0.0.1:1"}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	informers := tapped.Informers(client, 0)
	t.Cleanup(informers.Shutdown) // a reflector waits out its back-off, whatever becomes of its context
	_, err = Start(ctx, Deps{Tap: tapped, Informers: informers, Config: config}, cs)
	return err
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := startAt(ctx, t, []Controller{deploymentController(), replicaSetController()}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("want the context's error, got %v", err)
	}
}

func TestStartRefusesWhatDoesNotRun(t *testing.T) {
	refused := notRunning()[0]
	err := startAt(t.Context(), t, []Controller{deploymentController(), refused})
	var notRun *NotRunError
	if !errors.As(err, &notRun) || notRun.Name != refused.Name {
		t.Errorf("want a *NotRunError for %s, got %v", refused.Name, err)
	}
}

func TestStartNamesTheControllerThatCannotBeBuilt(t *testing.T) {
	broken := deploymentController()
	broken.build = func(context.Context, environment) (runFunc, error) { return nil, errors.New("its queue has moved") }
	err := startAt(t.Context(), t, []Controller{replicaSetController(), broken})
	if err == nil || err.Error() != "building deployment-controller: its queue has moved" {
		t.Errorf("got %v", err)
	}
}
