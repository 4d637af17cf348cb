package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
)

// runProgramFake is RunProgram in a bubble of synctest, whose clock goes on when nobody has anything to do: so the run
// takes as long as it computes, and does not depend on how fast the machine is.
func runProgramFake(t *testing.T, recording replay.Recording, p Program, o ProgramOptions) (result *Result, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.observe = func(text string) { t.Log(text) }
		result, err = RunProgram(t.Context(), recording, p, o)
	})
	return result, err
}

// said returns what a result says of its keys, a line for each.
func said(r *Result) []string {
	var out []string
	texts := r.byKey()
	for i := range r.Keys {
		k := &r.Keys[i]
		line := k.Key + ": " + texts[k.Controller+" "+k.Key]
		if k.Merged > 0 {
			line += fmt.Sprintf(", %d merged", k.Merged)
		}
		if k.Unsure {
			line += ", unsure"
		}
		if k.Repeats != nil {
			line += ", repeats"
		}
		out = append(out, line)
	}
	return out
}

// get returns an object; nil if it is not there.
func (c operatorClient) get(resource, name string) (*unstructured.Unstructured, error) {
	obj, err := c.of(resource).Get(c, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}

// update changes an object by a read and a write.
func (c operatorClient) update(resource, name string, change func(*unstructured.Unstructured)) error {
	obj, err := c.of(resource).Get(c, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	change(obj)
	_, err = c.of(resource).Update(c, obj, metav1.UpdateOptions{FieldManager: "op"})
	return err
}

func (c operatorClient) remove(resource, name string) error {
	return c.of(resource).Delete(c, name, metav1.DeleteOptions{})
}

// after waits, as a program does that is slow, or ends with the program.
func (c operatorClient) after(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.Done():
		return c.Err()
	case <-timer.C:
		return nil
	}
}

// configMapOf is a ConfigMap with one field.
func configMapOf(name, value string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {a: %q}}", name, value)
}

// dataOf returns the field of a configMapOf.
func dataOf(obj *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(obj.Object, "data", "a")
	return text
}

// setData returns a change that sets the field of a configMapOf.
func setData(value string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(obj.Object, value, "data", "a") // the parents are maps
	}
}

// copier is a program that keeps a ConfigMap that is like another one, and deletes it after that.
func copier(c operatorClient) error {
	source, err := c.get("configmaps", "source")
	if err != nil {
		return err
	}
	return copyOf(c, source)
}

// copyOf makes the copy as the source is, which is nil if there is none.
func copyOf(c operatorClient, source *unstructured.Unstructured) error {
	made, err := c.get("configmaps", "copy")
	switch {
	case err != nil:
		return err
	case source == nil && made == nil:
		return nil
	case source == nil:
		return c.remove("configmaps", "copy")
	case made == nil:
		return c.create("configmaps", configMapOf("copy", dataOf(source)))
	case dataOf(made) != dataOf(source):
		return c.update("configmaps", "copy", setData(dataOf(source)))
	}
	return nil
}

// copierTape is what a copier did, which began to do each a second after what it did it for.
func copierTape(t *testing.T) *programTape {
	t.Helper()
	return newProgramTape(t, configMaps).
		add(time.Second, replay.TypeAdded, "kubectl", configMapOf("source", "1")).
		add(time.Second, replay.TypeAdded, "op", configMapOf("copy", "1")).
		add(time.Second, replay.TypeModified, "kubectl", configMapOf("source", "2")).
		add(time.Second, replay.TypeModified, "op", configMapOf("copy", "2")).
		add(time.Second, replay.TypeDeleted, "kubectl", configMapOf("source", "2")).
		add(time.Second, replay.TypeDeleted, "op", configMapOf("copy", "2"))
}

// oneWrite is a recording of a program that writes one object, some time after what it does it for.
func oneWrite(t *testing.T, pause time.Duration) *programTape {
	t.Helper()
	return newProgramTape(t, configMaps).
		add(time.Second, replay.TypeAdded, "kubectl", configMapOf("source", "1")).
		add(pause, replay.TypeAdded, "op", configMapOf("copy", "1"))
}

// finalizerTape is what a program did that has a finalizer on a ConfigMap of others until that is deleted.
func finalizerTape(t *testing.T) *programTape {
	t.Helper()
	const metadata = "{apiVersion: v1, kind: ConfigMap, data: {a: '1'}, metadata: {name: source"
	const finalizer = ", finalizers: [example.com/op]"
	const deleting = ", deletionGracePeriodSeconds: 0, deletionTimestamp: '2026-01-02T03:04:08Z'"
	return newProgramTape(t, configMaps).
		add(time.Second, replay.TypeAdded, "kubectl", metadata+"}}").
		add(time.Second, replay.TypeModified, "kubectl+op", metadata+finalizer+"}}").
		add(time.Second, replay.TypeModified, "kubectl+op", metadata+finalizer+deleting+"}}").
		add(time.Second, replay.TypeDeleted, "kubectl+op", metadata+deleting+"}}")
}

// finalizing is the program of a finalizerTape, or one that never removes the finalizer.
func finalizing(removes bool) func(operatorClient) error {
	return func(c operatorClient) error {
		source, err := c.get("configmaps", "source")
		switch {
		case err != nil || source == nil:
			return err
		case source.GetDeletionTimestamp() == nil && len(source.GetFinalizers()) == 0:
			return c.update("configmaps", "source", func(obj *unstructured.Unstructured) {
				obj.SetFinalizers([]string{"example.com/op"})
			})
		case source.GetDeletionTimestamp() != nil && removes:
			return c.update("configmaps", "source", func(obj *unstructured.Unstructured) { obj.SetFinalizers(nil) })
		}
		return nil
	}
}

// always returns a program that has no state of its own.
func always(reconcile func(operatorClient) error) func() func(operatorClient) error {
	return func() func(operatorClient) error { return reconcile }
}

// once returns a program that does something when it sees the source, the first time only.
func once(do func(operatorClient) error) func() func(operatorClient) error {
	return func() func(operatorClient) error {
		done := false
		return func(c operatorClient) error {
			if done {
				return nil
			}
			source, err := c.get("configmaps", "source")
			if err != nil || source == nil {
				return err
			}
			done = true
			return do(c)
		}
	}
}

// TestProgram: each way in which a program can differ from the one that was recorded is named, and nothing else is.
func TestProgram(t *testing.T) {
	copies := func(value string) func(operatorClient) error {
		return func(c operatorClient) error { return c.create("configmaps", configMapOf("copy", value)) }
	}
	for _, tc := range []struct {
		reason    string
		tape      *programTape
		reconcile func() func(operatorClient) error
		want      []string
	}{
		{
			"a right program is the same", copierTape(t), always(copier),
			[]string{"ConfigMap shop/copy: 3 same, 0 uncompared"},
		},
		{
			"a write that comes before its time is the recorded one",
			oneWrite(t, time.Second).
				add(time.Second, replay.TypeModified, "kubectl", configMapOf("source", "2")).
				add(time.Second, replay.TypeAdded, "op", configMapOf("second", "1")),
			always(func(c operatorClient) error {
				return errors.Join(c.create("configmaps", configMapOf("second", "1")), copies("1")(c))
			}),
			[]string{"ConfigMap shop/copy: 1 same, 0 uncompared", "ConfigMap shop/second: 1 same, 0 uncompared"},
		},
		{
			"another content does not count if it is not tried again, and the recorded one is written",
			oneWrite(t, time.Second), func() func(operatorClient) error {
				values := []string{"3"}
				return func(c operatorClient) error {
					value := "1"
					if len(values) > 0 {
						value, values = values[0], nil
					}
					return copies(value)(c)
				}
			},
			[]string{"ConfigMap shop/copy: 1 same, 0 uncompared"},
		},
		{
			"a slow program has as long as the recorded one had, and its patience",
			oneWrite(t, 12*time.Second), once(func(c operatorClient) error {
				return errors.Join(c.after(20*time.Second), copies("1")(c))
			}),
			[]string{"ConfigMap shop/copy: 1 same, 0 uncompared"},
		},
		{
			"a write that comes later than that is missing, and refused",
			oneWrite(t, time.Second), once(func(c operatorClient) error {
				if err := c.after(11*time.Second + 500*time.Millisecond); err != nil {
					return err
				}
				if err := copies("1")(c); !apierrors.IsForbidden(err) {
					return fmt.Errorf("a write that is too late is answered with %w", err)
				}
				return nil
			}),
			[]string{"ConfigMap shop/copy: 0 same, 0 uncompared, missing create configmaps copy"},
		},
		{
			"a write that was made after a pause too long to wait for is one by a timer",
			oneWrite(t, time.Minute), always(func(operatorClient) error { return nil }),
			[]string{"ConfigMap shop/copy: 0 same, 0 uncompared, by timer create configmaps copy"},
		},
		{
			"a write that is left out is missing, and what follows for its key is not compared",
			copierTape(t), always(func(operatorClient) error { return nil }),
			[]string{"ConfigMap shop/copy: 0 same, 2 uncompared, missing create configmaps copy"},
		},
		{
			"the last write is left out: those before it are the same",
			copierTape(t), always(func(c operatorClient) error {
				source, err := c.get("configmaps", "source")
				if err != nil || source == nil {
					return err
				}
				return copyOf(c, source)
			}),
			[]string{"ConfigMap shop/copy: 2 same, 0 uncompared, missing delete configmaps copy"},
		},
		{
			"another content is a difference of its fields", oneWrite(t, time.Second), always(copies("3")),
			[]string{"ConfigMap shop/copy: 0 same, 0 uncompared, other create configmaps copy data.a: 1 -> 3"},
		},
		{
			"a second object is a write that was not recorded, and the first is the same",
			oneWrite(t, time.Second), always(func(c operatorClient) error {
				return errors.Join(copies("1")(c), c.create("configmaps", configMapOf("second", "1")))
			}),
			[]string{
				"ConfigMap shop/copy: 1 same, 0 uncompared",
				"ConfigMap shop/second: 0 same, 0 uncompared, extra create configmaps second",
			},
		},
		{
			"an object that is written twice is written once too often",
			oneWrite(t, time.Second), always(func(c operatorClient) error {
				if err := copies("1")(c); err != nil {
					return err
				}
				return c.update("configmaps", "copy", setData("2"))
			}),
			[]string{"ConfigMap shop/copy: 1 same, 0 uncompared, extra update configmaps copy"},
		},
		{
			"writes that change nothing are no difference, but many are told",
			oneWrite(t, time.Second), once(func(c operatorClient) error {
				for c.Err() == nil {
					if err := copies("1")(c); err == nil {
						_ = c.update("configmaps", "copy", func(*unstructured.Unstructured) {})
					}
					_ = c.after(100 * time.Millisecond)
				}
				return nil
			}),
			[]string{"ConfigMap shop/copy: 1 same, 0 uncompared, repeats"},
		},
		{
			"a write that the API refuses, and did not when it was recorded, is missing",
			oneWrite(t, time.Second), always(func(c operatorClient) error {
				return c.create("configmaps", strings.Replace(configMapOf("copy", "1"), "copy", "copy, labels: {a: '!'}", 1))
			}),
			[]string{"ConfigMap shop/copy: 0 same, 0 uncompared, missing create configmaps copy"},
		},
		{
			"a finalizer that is removed when it was is the same", finalizerTape(t), always(finalizing(true)),
			[]string{"ConfigMap shop/source: 2 same, 0 uncompared"},
		},
		{
			"a finalizer that is never removed is a missing update", finalizerTape(t), always(finalizing(false)),
			[]string{"ConfigMap shop/source: 1 same, 0 uncompared, missing update configmaps source"},
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			result, err := runProgramFake(t, tc.tape, testOperator(tc.reconcile()), ProgramOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, said(result)); diff != "" {
				t.Errorf("the result (-want +got):\n%s", diff)
			}
			same := !slices.ContainsFunc(tc.want, func(line string) bool {
				return !strings.HasSuffix(strings.TrimSuffix(line, ", repeats"), "same, 0 uncompared")
			})
			if result.IsSame() != same {
				t.Errorf("same is %t, want %t", result.IsSame(), same)
			}
		})
	}
}

// TestProgramErrors: a program that does not begin, or ends by itself, is an error that says how far it came.
func TestProgramErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, tc := range []struct {
		reason string
		run    func(context.Context, *playback.Server, string) error
		check  func(error) bool
		text   string
	}{
		{
			"it watches nothing, and time goes on meanwhile",
			func(ctx context.Context, _ *playback.Server, _ string) error { <-ctx.Done(); return nil },
			func(err error) bool { return errors.Is(err, ErrNotStarted) },
			"the program has not begun to watch anything within 1m0s",
		},
		{
			"it ends with an error before it watches anything",
			func(context.Context, *playback.Server, string) error { return broken },
			func(err error) bool { return errors.Is(err, broken) },
			"broken, after 0 of 6 events",
		},
		{
			"it ends by itself when its next write is waited for",
			func(ctx context.Context, s *playback.Server, token string) error {
				ctx, stop := context.WithCancel(ctx)
				defer stop()
				return testOperator(func(c operatorClient) error {
					source, err := c.get("configmaps", "source")
					if err != nil {
						return err
					}
					if source != nil && dataOf(source) == "2" {
						stop()
						return nil
					}
					return copyOf(c, source)
				}).Run(ctx, s, token)
			},
			func(err error) bool { ended := (*ProgramError)(nil); return errors.As(err, &ended) && ended.Err == nil },
			"op ended by itself, after 3 of 6 events",
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			p := Program{Name: "op", Writers: []string{"op"}, Run: tc.run}
			_, err := runProgramFake(t, copierTape(t), p, ProgramOptions{})
			if err == nil || !tc.check(err) || err.Error() != tc.text {
				t.Errorf("the error is %v, want %s", err, tc.text)
			}
		})
	}
}
