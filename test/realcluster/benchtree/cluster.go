package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"runtime"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/load"
)

const (
	namespaces = 10
	// peersUpTo is the size up to which peers are measured too.
	peersUpTo = 22_000
	// someDeployments is how many the smaller fleet owns.
	someDeployments = 10

	prefix          = "load"
	forestPrefix    = "forest"
	forestNamespace = forestPrefix + "-1"
	forestObjects   = 10_000
)

// firstNamespace is that of the objects that are asked for.
const firstNamespace = prefix + "-1"

// bench is a control plane that is filled and asked.
type bench struct {
	options
	programs map[string]string
	cluster  *realcluster.Cluster
	counter  *counter
	owners   map[string]metav1.OwnerReference
	filter   *regexp.Regexp
	families int // that are there
	notes    io.Writer
}

// measureAll starts a control plane without controllers, fills it step by step and asks at each step.
func measureAll(ctx context.Context, o options, programs map[string]string, out, notes io.Writer) (err error) {
	filter, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("reading the expression of cases: %w", err)
	}
	cluster, err := realcluster.Start(ctx, realcluster.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	if programs, err = installed(programs, cluster.Dir()); err != nil {
		return err
	}
	counter, err := startCounter(ctx, cluster.Config(), cluster.Dir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, counter.close()) }()
	b := &bench{options: o, programs: programs, cluster: cluster, counter: counter, filter: filter, notes: notes}
	if b.owners, err = makeFleets(ctx, cluster.Config()); err != nil {
		return err
	}
	if err := b.measure(ctx, out); err != nil || !o.keep {
		return err
	}
	fmt.Fprintf(notes, "serving until interrupted: export KUBECONFIG=%s\n", cluster.Kubeconfig())
	<-ctx.Done()
	return nil
}

func (b *bench) measure(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "%s/%s, %d cores, median of %d\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), b.rounds)
	header(out)
	if err := b.ask(ctx, out, 0, nothing); err != nil {
		return err
	}
	for _, size := range b.sizes {
		made, err := b.fill(ctx, size)
		if err != nil {
			return err
		}
		if err := breakOne(ctx, b.cluster.Config()); err != nil {
			return err
		}
		if err := writeManifest(ctx, b.cluster.Config(), b.file(manifest)); err != nil {
			return err
		}
		for _, q := range sized() {
			if err := b.ask(ctx, out, made, q.of(b.programs, size <= peersUpTo)); err != nil {
				return err
			}
		}
	}
	made, err := b.load(ctx, load.Options{Objects: forestObjects, Namespaces: 1, Prefix: forestPrefix})
	if err != nil {
		return err
	}
	return b.ask(ctx, out, made, forest.of(b.programs, true))
}

// fill adds what is missing to so many objects, and returns how many there are.
func (b *bench) fill(ctx context.Context, objects int) (int, error) {
	o := load.Options{Namespaces: namespaces, Prefix: prefix, First: b.families, Owners: b.ownersOf}
	o.Objects = objects - b.families*load.FamilySize
	families := o.Families()
	if _, err := b.load(ctx, o); err != nil {
		return 0, err
	}
	b.families += families
	return b.families * load.FamilySize, nil
}

func (b *bench) load(ctx context.Context, o load.Options) (int, error) {
	began := time.Now()
	o.Parallel, o.Etcd = 2*runtime.NumCPU(), b.cluster.Etcd()
	made, err := load.Fill(ctx, b.cluster.Config(), o)
	fmt.Fprintf(b.notes, "%d objects made in %.1fs\n", made, time.Since(began).Seconds())
	return made, err
}

func (b *bench) ownersOf(n int) []metav1.OwnerReference {
	if n < someDeployments {
		return []metav1.OwnerReference{b.owners[someFleet]}
	}
	return []metav1.OwnerReference{b.owners[allFleet]}
}

// file is one in the cluster's own folder, which is removed with it.
func (b *bench) file(name string) string { return filepath.Join(b.cluster.Dir(), name) }
