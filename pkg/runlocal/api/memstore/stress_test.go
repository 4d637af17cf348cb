package memstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
)

// journal is what OnCommit reported.
type journal struct {
	mu       sync.Mutex
	reported map[uint64]bool
}

func (j *journal) commit(_ context.Context, version uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reported[version] = true
}

func (j *journal) has(version uint64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.reported[version]
}

const (
	stressWriters = 4
	stressWrites  = 300 // each
	stressNames   = 25
)

// TestStress has writers, listers and watchers work at the same time. Each watcher must see every write in order and
// once, after it was reported; what it makes of them must be what a list of the same version holds.
func TestStress(t *testing.T) {
	for _, mode := range []Mode{Objects, Encoded} {
		t.Run(mode.String(), func(t *testing.T) {
			log := &journal{reported: map[uint64]bool{}}
			// The history is large enough for every version to be listed at the end.
			f := newFixture(t, mode, Options{OnCommit: log.commit, History: 2 * stressWriters * stressWrites})
			g, ctx := errgroup.WithContext(t.Context())
			var done atomic.Bool
			for i := range 6 {
				w := f.mustWatch(t, storage.ListOptions{ResourceVersion: "1"})
				g.Go(func() error { return follow(ctx, f, log, w, i%2 == 0) })
			}
			for range 2 {
				g.Go(func() error { return list(ctx, f, &done) })
			}
			writers, writing := errgroup.WithContext(ctx)
			for i := range stressWriters {
				writers.Go(func() error { return write(writing, f, rand.New(rand.NewPCG(7, uint64(i)))) })
			}
			err := writers.Wait()
			done.Store(true)
			// The last write ends the watchers, which have missed nothing then.
			if cerr := f.Create(ctx, "/pods/ns/last", labelled("last", "1"), nil, 0); cerr != nil {
				t.Error(cerr)
			}
			if gerr := g.Wait(); err != nil || gerr != nil {
				t.Fatal(err, gerr)
			}
		})
	}
}

// write creates, updates and deletes at random; that another writer was faster is no error.
func write(ctx context.Context, f *fixture, random *rand.Rand) error {
	for i := range stressWrites {
		name := fmt.Sprintf("pod-%02d", random.IntN(stressNames))
		key := "/pods/ns/" + name
		var err error
		switch random.IntN(4) {
		case 0:
			err = f.Delete(ctx, key, &example.Pod{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
		case 1:
			err = f.GuaranteedUpdate(ctx, key, &example.Pod{}, false, nil, addAnnotation, nil)
		default:
			err = f.Create(ctx, key, labelled(name, strconv.Itoa(i)), &example.Pod{}, 0)
		}
		if err != nil && !storage.IsExist(err) && !storage.IsNotFound(err) {
			return fmt.Errorf("writing %q: %w", key, err)
		}
	}
	return nil
}

// list lists until done, and wants sorted names and items no newer than the list.
func list(ctx context.Context, f *fixture, done *atomic.Bool) error {
	for !done.Load() {
		out := &example.PodList{}
		if err := f.GetList(ctx, "/pods", storage.ListOptions{Recursive: true, Predicate: storage.Everything},
			out); err != nil {
			return err
		}
		version, err := strconv.ParseUint(out.ResourceVersion, 10, 64)
		if err != nil {
			return err
		}
		for i, pod := range out.Items {
			if i > 0 && out.Items[i-1].Name >= pod.Name {
				return fmt.Errorf("list is not sorted: %s before %s", out.Items[i-1].Name, pod.Name)
			}
			if rv, err := f.versioner.ObjectResourceVersion(&out.Items[i]); err != nil || rv > version {
				return fmt.Errorf("list at %d holds version %d, error %w", version, rv, err)
			}
		}
	}
	return nil
}

// follow checks the events of w until the pod "last". Nothing else writes, so versions must come without gaps.
func follow(ctx context.Context, f *fixture, log *journal, w watch.Interface, compare bool) error {
	state := map[string]string{}
	for next := uint64(2); ; next++ {
		var ev watch.Event
		select {
		case ev = <-w.ResultChan():
		case <-ctx.Done():
			return nil
		}
		pod, ok := ev.Object.(*example.Pod)
		if !ok {
			return fmt.Errorf("event is %v", brief(ev))
		}
		if pod.ResourceVersion != strconv.FormatUint(next, 10) {
			return fmt.Errorf("event %s where %d was to come", brief(ev), next)
		}
		if !log.has(next) {
			return fmt.Errorf("event %s came before its commit was reported", brief(ev))
		}
		if _, known := state[pod.Name]; known != (ev.Type != watch.Added) {
			return fmt.Errorf("event %s, but the object is known: %t", brief(ev), known)
		}
		state[pod.Name] = pod.ResourceVersion
		if ev.Type == watch.Deleted {
			delete(state, pod.Name)
		}
		if pod.Name == "last" {
			return nil
		}
		if compare && next%50 == 0 {
			if err := equal(ctx, f, pod.ResourceVersion, state); err != nil {
				return err
			}
		}
	}
}

// equal compares what a watcher has seen up to a version with a list of that version.
func equal(ctx context.Context, f *fixture, version string, state map[string]string) error {
	out := &example.PodList{}
	opts := storage.ListOptions{Recursive: true, Predicate: storage.Everything, ResourceVersion: version,
		ResourceVersionMatch: "Exact"}
	if err := f.GetList(ctx, "/pods", opts, out); err != nil {
		return err
	}
	if len(out.Items) != len(state) {
		return fmt.Errorf("list at %s has %d items, the watch %d", version, len(out.Items), len(state))
	}
	for _, pod := range out.Items {
		if state[pod.Name] != pod.ResourceVersion {
			return fmt.Errorf("list at %s has %s at %s, the watch at %s", version, pod.Name, pod.ResourceVersion,
				state[pod.Name])
		}
	}
	return nil
}
