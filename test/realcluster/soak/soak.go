package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
)

const (
	// startTime bounds the plugin's start.
	startTime = 2 * time.Minute
	// convergeTime bounds how long it may take, after the last change, until everything is as it should. An informer
	// whose server was away tries again after up to a minute, and a controller that waits for its pods which
	// never come gives them up after five (ExpectationsTimeout of upstream's pkg/controller/controller_utils.go).
	convergeTime = 7 * time.Minute
)

// soak has the plugin work under load, and reports.
func soak(ctx context.Context, cluster *realcluster.Cluster, o options, note func(string, ...any)) (*report, error) {
	r := &report{options: o}
	plugin, probe, err := startPlugin(ctx, cluster, o.keep)
	if err != nil {
		return r, err
	}
	note("the plugin runs")
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		return r, fmt.Errorf("making a client: %w", err)
	}
	began := time.Now()
	if r.before, err = probe.sample(ctx, began); err != nil {
		return r, err
	}
	if err := r.load(ctx, cluster, probe, client, began, note); err != nil {
		return r, errors.Join(err, complaints(plugin))
	}
	note("no more changes; waiting until everything is as it should")
	if r.converged, err = converge(ctx, client, cluster, convergeTime); err != nil {
		return r, errors.Join(err, complaints(plugin), probe.dump(ctx, o.keep))
	}
	if err := removeAll(ctx, client, cluster, convergeTime); err != nil {
		return r, errors.Join(err, complaints(plugin), probe.dump(ctx, o.keep))
	}
	if r.after, err = probe.sample(ctx, began); err != nil {
		return r, err
	}
	r.exit, err = plugin.Interrupt()
	r.away, r.back = notices(plugin)
	return r, err
}

// serving is how the plugin tells where it serves.
var serving = regexp.MustCompile(`(?m)^serving (https://\S+): `)

// startPlugin starts all controllers in kube-controller-manager's place, and returns when they are ready.
func startPlugin(ctx context.Context, cluster *realcluster.Cluster, keep string) (*realcluster.Run, *probe, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	token := filepath.Join(cluster.Dir(), "soak-token")
	args := append(cluster.Keys(), "--controller", "*", "--write", "--yes", "--force", "-q")
	args = append(args, "--serve", "0", "--serve-token-file", token, "--qps", "200", "--lease-duration", "2m")
	if keep != "" {
		args = append(args, "--trace-file", filepath.Join(keep, "trace.ndjson"))
	}
	plugin, err := cluster.StartRun(ctx, args...)
	if err != nil {
		return nil, nil, err
	}
	found, err := plugin.Await(ctx, "the plugin to serve", serving)
	if err != nil {
		return nil, nil, err
	}
	data, err := os.ReadFile(token)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the token: %w", err)
	}
	p := newProbe(found[1], string(data), plugin.PID())
	return plugin, p, p.awaitReady(ctx)
}

// load changes things, kills kube-apiserver and samples, all until the time is over.
func (r *report) load(
	ctx context.Context, cluster *realcluster.Cluster, p *probe, client kubernetes.Interface,
	began time.Time, note func(string, ...any),
) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	limited, cancel := context.WithDeadline(ctx, began.Add(r.length))
	defer cancel()
	var work sync.WaitGroup
	for n := range r.clients {
		c := newChurn(client, n, r.seed)
		work.Go(func() { c.run(limited); r.count(c) })
	}
	work.Go(func() {
		if err := r.killing(ctx, cluster, began, note); err != nil {
			fail(err)
		}
	})
	err := r.sampling(limited, p, began, note)
	work.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// killing kills kube-apiserver so often, evenly spread over the time; later where it takes long to come back.
func (r *report) killing(
	ctx context.Context, cluster *realcluster.Cluster, began time.Time, note func(string, ...any),
) error {
	for r.killed < r.kills {
		next := began.Add(r.length * time.Duration(r.killed+1) / time.Duration(r.kills+1))
		if err := wait(ctx, time.Until(next)); err != nil {
			return err
		}
		if err := cluster.KillAPIServer(); err != nil {
			return err
		}
		note("kube-apiserver was killed, %d of %d", r.killed+1, r.kills)
		if err := wait(ctx, r.absence); err != nil {
			return err
		}
		if err := cluster.RestartAPIServer(ctx); err != nil {
			return err
		}
		r.killed++
	}
	return nil
}

// sampling looks at the process from time to time.
func (r *report) sampling(ctx context.Context, p *probe, began time.Time, note func(string, ...any)) error {
	for told := 0; wait(ctx, r.every) == nil; told++ {
		s, err := p.sample(ctx, began)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the time is over, and the last look was cut off
		case err != nil:
			return err
		}
		r.samples = append(r.samples, s)
		if told%12 == 0 {
			note("%s", s)
		}
	}
	return nil
}

// wait lets time pass.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// complaints are the last that the plugin said on stderr.
func complaints(plugin *realcluster.Run) error {
	said, err := plugin.Complaints()
	if err != nil || said == "" {
		return err
	}
	return fmt.Errorf("the plugin complained:\n%s", said[max(0, len(said)-2000):])
}

// notices count what the plugin has said of the API server.
func notices(plugin *realcluster.Run) (away, back int) {
	said, err := plugin.Complaints()
	if err != nil {
		return 0, 0
	}
	count := func(pattern string) int { return len(regexp.MustCompile(pattern).FindAllString(said, -1)) }
	return count(`(?m)^warning: the API server does not answer since `), count(`(?m)^the API server is back after `)
}
