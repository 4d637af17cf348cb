package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
)

// nodes is how many nodes each side has: the pods and the scheduler's choice among them are spread over them.
const nodes = 20

// side is what is measured.
type side struct {
	name  string
	start func(context.Context, load) (running, error)
}

// running is a control plane that serves.
type running interface {
	Stop() error
	Processes() map[string]int
}

// build makes all programs before anything is measured.
func build(ctx context.Context, notes io.Writer) error {
	log := func(format string, args ...any) { fmt.Fprintf(notes, format+"\n", args...) }
	if _, err := realcluster.Build(ctx, log); err != nil {
		return err
	}
	_, err := realcluster.BuildPlugin(ctx)
	return err
}

func startReal(ctx context.Context, l load) (running, error) {
	return realcluster.Start(ctx, realcluster.Options{
		Controllers: l.controllers, Scheduler: true, Nodes: nodes,
	})
}

func startEmbedded(ctx context.Context, l load) (running, error) {
	return realcluster.StartSandbox(ctx, realcluster.SandboxOptions{Args: []string{
		"--controller", strings.Join(l.controllers, ","), "--nodes", strconv.Itoa(nodes), "--pod-ready-after", "0",
	}})
}

// configOf is how a client reaches it.
func configOf(r running) (*rest.Config, error) {
	switch r := r.(type) {
	case *realcluster.Cluster:
		return r.Config(), nil
	case *realcluster.Sandbox:
		return r.Config()
	}
	return nil, fmt.Errorf("%T has no clients", r)
}
