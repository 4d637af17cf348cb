package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/redact"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
)

// programTape is a recording of a program, made by hand.
type programTape struct {
	testing.TB
	replay.Memory
	at      time.Time
	created time.Time // of all objects
	version int
	streams map[string]int
}

// newProgramTape returns one that has kinds, and no objects.
func newProgramTape(t testing.TB, kinds ...replay.Stream) *programTape {
	p := &programTape{TB: t, at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), version: 1, streams: map[string]int{}}
	p.created = p.at
	p.Head = replay.Header{Version: replay.FormatVersion}
	for i, stream := range kinds {
		stream.Number = i + 1
		p.streams[stream.Kind] = stream.Number
		p.Append(
			&replay.Record{Time: p.at, Type: replay.TypeStream, Stream: stream.Number, NewStream: &stream},
			&replay.Record{Time: p.at, Type: replay.TypeListBegin, Stream: stream.Number},
			&replay.Record{Time: p.at, Type: replay.TypeListEnd, Stream: stream.Number, ResourceVersion: "1"})
	}
	return p
}

// add appends an event, a while after the one before. The manager owns all fields of the object but its metadata, and
// its finalizers, unless another one has those, as in "kubectl+op".
func (p *programTape) add(after time.Duration, what replay.Type, manager, manifest string) *programTape {
	p.Helper()
	var obj map[string]any
	if err := yaml.Unmarshal([]byte(manifest), &obj); err != nil {
		p.Fatal(err)
	}
	p.at = p.at.Add(after)
	p.version++
	u := unstructured.Unstructured{Object: obj}
	u.SetNamespace("shop")
	u.SetUID("1")
	u.SetResourceVersion(fmt.Sprint(p.version))
	u.SetCreationTimestamp(metav1.Time{Time: p.created})
	owned := map[string]any{}
	for name, value := range obj {
		if name != "metadata" && name != "kind" && name != "apiVersion" && name != "type" {
			owned["f:"+name] = ownedFields(value)
		}
	}
	manager, finalizing, apart := strings.Cut(manager, "+")
	var entries []metav1.ManagedFieldsEntry
	if finalizers := u.GetFinalizers(); len(finalizers) > 0 {
		set := map[string]any{".": map[string]any{}}
		for _, one := range finalizers {
			set[fmt.Sprintf("v:%q", one)] = map[string]any{}
		}
		if metadata := map[string]any{"f:finalizers": set}; apart {
			entries = append(entries, p.entry(finalizing, u.GetAPIVersion(), map[string]any{"f:metadata": metadata}))
		} else {
			owned["f:metadata"] = metadata
		}
	}
	entries = append(entries, p.entry(manager, u.GetAPIVersion(), owned))
	u.SetManagedFields(entries)
	data, err := u.MarshalJSON()
	if err != nil {
		p.Fatal(err)
	}
	p.Append(&replay.Record{
		Time: p.at, Type: what, Stream: p.streams[u.GetKind()], Namespace: "shop", Name: u.GetName(), UID: "1",
		ResourceVersion: u.GetResourceVersion(), Object: data,
	})
	return p
}

// entry is an entry of managedFields.
func (p *programTape) entry(manager, version string, owned map[string]any) metav1.ManagedFieldsEntry {
	p.Helper()
	raw, err := json.Marshal(owned)
	if err != nil {
		p.Fatal(err)
	}
	fields := &metav1.FieldsV1{}
	fields.SetRawBytes(raw)
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: version,
		FieldsType: "FieldsV1", FieldsV1: fields, Time: &metav1.Time{Time: p.at},
	}
}

func ownedFields(value any) any {
	out := map[string]any{}
	if m, ok := value.(map[string]any); ok {
		out["."] = map[string]any{}
		for name, value := range m {
			out["f:"+name] = ownedFields(value)
		}
	}
	return out
}

// Kinds of programTape.
var (
	configMaps = replay.Stream{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true}
	quotas     = replay.Stream{Version: "v1", Kind: "ResourceQuota", Resource: "resourcequotas", Namespaced: true}
	secrets    = replay.Stream{Version: "v1", Kind: "Secret", Resource: "secrets", Namespaced: true}
)

// operatorClient is the client of a testOperator.
type operatorClient struct {
	context.Context
	dynamic.Interface
	// seen is what the last event was about.
	seen map[string]any
}

func (c operatorClient) of(resource string) dynamic.ResourceInterface {
	return c.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Namespace("shop")
}

// create creates an object, unless it is there.
func (c operatorClient) create(resource, manifest string) error {
	obj := map[string]any{}
	if err := yaml.Unmarshal([]byte(manifest), &obj); err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: obj}
	if _, err := c.of(resource).Get(c, u.GetName(), metav1.GetOptions{}); err == nil {
		return nil
	}
	_, err := c.of(resource).Create(c, u, metav1.CreateOptions{FieldManager: "op"})
	return err
}

// testOperator is a program that looks at all there is when a ConfigMap changes, and again soon after an error.
func testOperator(reconcile func(operatorClient) error) Program {
	return Program{Name: "op", Writers: []string{"op"}, Run: func(ctx context.Context, s *playback.Server, token string) error {
		config := s.Config()
		config.BearerToken = token
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return err
		}
		c := operatorClient{ctx, client, nil}
		watched, err := c.of("configmaps").Watch(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		defer watched.Stop()
		pause, again := 10*time.Millisecond, make(<-chan time.Time)
		for {
			select {
			case <-ctx.Done():
				return nil
			case event, open := <-watched.ResultChan():
				if !open {
					return nil
				}
				if u, ok := event.Object.(*unstructured.Unstructured); ok {
					c.seen = u.Object
				}
			case <-again:
			}
			again = nil
			if err := reconcile(c); err != nil {
				again, pause = time.After(pause), min(2*pause, time.Second)
			} else {
				pause = 10 * time.Millisecond
			}
		}
	}}
}

// runOperator runs an operator on a recording, and returns the result.
func runOperator(t *testing.T, recording replay.Recording, o ProgramOptions, reconcile func(operatorClient) error) *Result {
	t.Helper()
	o.observe = func(text string) { t.Log(text) }
	result, err := RunProgram(within(t), recording, testOperator(reconcile), o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

const topSecret = "dG9wLXNlY3JldA==" // top-secret

// secretManifest is a Secret with a password.
func secretManifest(password string) string {
	return "{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: made}, data: {p: " + password + "}}"
}

const (
	wanted   = "{apiVersion: v1, kind: ConfigMap, metadata: {name: wanted}, data: {a: b}}"
	derived  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: derived}, data: {user: me}}"
	redacted = "cmVkYWN0ZWQtMDEyMzQ1Njc=" // redacted-01234567
)

// TestSecretsOfPrograms: no result has the value of a Secret, and what was redacted or is ignored ends no comparison.
func TestSecretsOfPrograms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		recorded, written string
		ignore            string
		same              bool
		redacted          int
		reason            string
	}{
		{"b3RoZXI=", topSecret, "", false, 0, "another value, of which it is not shown what it is"},
		{redacted, topSecret, "", true, 1, "a placeholder may be any value"},
		{"b3RoZXI=", topSecret, "secrets:data.p", true, 0, "a random value is ignored"},
		{"b3RoZXI=", topSecret, "secrets:data.q", false, 0, "another field is ignored"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			tape := newProgramTape(t, configMaps, secrets)
			tape.add(time.Second, replay.TypeAdded, "kubectl", wanted)
			tape.add(time.Second, replay.TypeAdded, "op", secretManifest(tc.recorded))
			tape.add(time.Second, replay.TypeAdded, "op", derived)
			o := ProgramOptions{Ignore: parseRules(t, tc.ignore)}
			result := runOperator(t, tape, o, func(c operatorClient) error {
				if err := c.create("secrets", secretManifest(tc.written)); err != nil {
					return err
				}
				made, err := c.of("secrets").Get(c, "made", metav1.GetOptions{})
				if err != nil {
					return err
				}
				if p, _, _ := unstructured.NestedString(made.Object, "data", "p"); p != tc.written && tc.redacted > 0 {
					t.Errorf("the program wrote %s, and reads %s", tc.written, p)
				}
				return c.create("configmaps", derived)
			})
			text, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), topSecret) || strings.Contains(string(text), "b3RoZXI=") {
				t.Errorf("the result has the value: %s", text)
			}
			if counts := result.Counts(); result.IsSame() != tc.same || counts.Redacted != tc.redacted {
				t.Errorf("same is %t, %d redacted, want %t and %d: %s", result.IsSame(), counts.Redacted, tc.same, tc.redacted, text)
			}
		})
	}
}

// TestAcceptSecret: what is accepted into a redacted recording is redacted.
func TestAcceptSecret(t *testing.T) {
	t.Parallel()
	tape := newProgramTape(t, configMaps, secrets)
	tape.Head.Redacted = true
	tape.Head.Options = []string{"--redact=configmaps:data.user"}
	tape.add(time.Second, replay.TypeAdded, "kubectl", wanted)
	tape.add(time.Second, replay.TypeAdded, "op", derived)
	operator := testOperator(func(c operatorClient) error {
		if err := c.create("secrets", secretManifest(topSecret)); err != nil {
			return err
		}
		return c.create("configmaps", strings.Replace(derived, "me", "root-user", 1))
	})
	accepted, err := Accept(within(t), tape, operator, ProgramOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := &replay.Memory{Head: tape.Head}
	if err := accepted.Write(tape, appending{out}); err != nil {
		t.Fatal(err)
	}
	found := ""
	for _, r := range out.Records {
		found += string(r.Object) + "\n"
	}
	if strings.Contains(found, topSecret) || strings.Contains(found, "root-user") || !strings.Contains(found, `"made"`) {
		t.Errorf("accepted:\n%s", found)
	}
	result, err := RunProgram(within(t), out, operator, ProgramOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !result.IsSame() {
		t.Errorf("what was accepted differs: %+v", result.Keys)
	}
}

func parseRules(t *testing.T, text string) []redact.Rule {
	t.Helper()
	if text == "" {
		return nil
	}
	rule, err := redact.ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return []redact.Rule{rule}
}

// TestRefusedWrites: writes that were not recorded count, though each is refused.
func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	turn, tried := 0, 0
	for _, tc := range []struct {
		reason    string
		reconcile func(operatorClient) error
		want      string
		unsure    bool
	}{
		{"two contents in turn", func(c operatorClient) error {
			turn++
			return c.create("configmaps", strings.Replace(derived, "me}", fmt.Sprint("u", turn%2, "}"), 1))
		}, "other create derived", false},
		{"a write whose refusal is ignored", func(c operatorClient) error {
			if tried++; tried == 1 {
				_ = c.create("configmaps", strings.Replace(derived, "derived", "once", 1))
			}
			return c.create("configmaps", derived)
		}, "extra create once", true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			tape := newProgramTape(t, configMaps)
			tape.add(time.Second, replay.TypeAdded, "kubectl", wanted)
			tape.add(time.Second, replay.TypeAdded, "op", derived)
			result := runOperator(t, tape, ProgramOptions{}, tc.reconcile)
			text := ""
			for i := range result.Keys {
				k := &result.Keys[i]
				if k.Other != nil {
					text += "other create " + k.Other.Recorded.Object.Name
				}
				for _, w := range k.Extra {
					text += fmt.Sprintf("extra %s %s", w.Verb, w.Object.Name)
				}
			}
			if text != tc.want || result.IsUnsure() != tc.unsure {
				t.Errorf("%q, unsure is %t, want %q and %t", text, result.IsUnsure(), tc.want, tc.unsure)
			}
		})
	}
}

// statusTape is a recording of a program that counts in the status of a quota what a ConfigMap of it says: 1. Later
// this says what is given, each time a moment after the one before, and the recording goes on for a while.
func statusTape(t *testing.T, goesOn time.Duration, later ...string) *programTape {
	t.Helper()
	const quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: site}, spec: {hard: {pods: 9}}"
	part := func(n string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: part, ownerReferences: " +
			"[{apiVersion: v1, kind: ResourceQuota, name: site, uid: '1', controller: true}]}, data: {pods: '" + n + "'}}"
	}
	tape := newProgramTape(t, configMaps, quotas)
	tape.add(time.Second, replay.TypeAdded, "kubectl", quota+"}")
	tape.add(time.Second, replay.TypeAdded, "kubectl", part("1"))
	tape.add(time.Second, replay.TypeModified, "op", quota+", status: {used: {pods: '1'}}}")
	for _, n := range later {
		tape.add(100*time.Millisecond, replay.TypeModified, "kubectl", part(n))
	}
	tape.Append(&replay.Record{Time: tape.at.Add(goesOn), Type: replay.TypeAlive})
	return tape
}

// TestLateStatus: a status that the recorded program had no time to write is no difference, others are.
func TestLateStatus(t *testing.T) {
	t.Parallel()
	counted := 10
	for _, tc := range []struct {
		tape   *programTape
		counts bool
		want   string
		reason string
	}{
		{statusTape(t, time.Minute, "2", "1"), false, "", "what the status is about was over in a moment"},
		{statusTape(t, time.Millisecond, "2"), false, "after the end 2", "the recording ended before"},
		{statusTape(t, time.Minute, "2"), false, "extra 2", "there was time for it"},
		{statusTape(t, time.Millisecond, "2"), true, "extra 10", "the program goes on to write"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			result := runOperator(t, tc.tape, ProgramOptions{Patience: 4 * time.Second}, func(c operatorClient) error {
				n, _, _ := unstructured.NestedString(c.seen, "data", "pods")
				if tc.counts && n == "2" {
					n, counted = fmt.Sprint(counted), counted+1
				}
				return c.report(n)
			})
			text := ""
			for i := range result.Keys {
				for _, w := range result.Keys[i].Extra {
					text += fmt.Sprint("extra ", w.Changes[0].New)
				}
				for _, w := range result.Keys[i].AfterEnd {
					text += fmt.Sprint("after the end ", w.Changes[0].New)
				}
			}
			if same := strings.HasPrefix(tc.want, "extra"); text != tc.want || result.IsSame() == same {
				t.Errorf("%q, want %q, same is %t: %+v", text, tc.want, result.IsSame(), result.Keys)
			}
		})
	}
}

// report writes how many pods the quota counts into its status, if it is another number.
func (c operatorClient) report(pods string) error {
	quota, err := c.of("resourcequotas").Get(c, "site", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if old, _, _ := unstructured.NestedString(quota.Object, "status", "used", "pods"); old == pods {
		return nil
	}
	if err := unstructured.SetNestedField(quota.Object, pods, "status", "used", "pods"); err != nil {
		return err
	}
	_, err = c.of("resourcequotas").UpdateStatus(c, quota, metav1.UpdateOptions{FieldManager: "op"})
	return err
}

// TestEnough: what is the same is not enough if more than a third of it was not compared.
func TestEnough(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		result Result
		want   bool
		reason string
	}{
		{Result{Writers: []string{"op"}, Effects: 3, Keys: []Key{{Same: 3, Merged: 1}}}, true, "a third"},
		{Result{Writers: []string{"op"}, Effects: 2, Keys: []Key{{Same: 2, Merged: 1}}}, false, "a half"},
		{Result{Writers: []string{"op"}, Effects: 2, Unattributed: 1, Keys: []Key{{Same: 1}}}, false, "of others, maybe"},
		{Result{Effects: 2, Keys: []Key{{Same: 2, Merged: 2}}}, true, "controllers make some pods in no order"},
	} {
		if got := tc.result.IsSame(); got != tc.want {
			t.Errorf("%s: same is %t, want %t", tc.reason, got, tc.want)
		}
	}
}
