package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
)

// writer is a client of scripts that writes any objects, their status too.
type writer struct {
	config  *rest.Config
	client  dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	manager string // the field manager of apply
}

func writerOf(ts *testscript.TestScript, kubeconfig string) *writer {
	config, err := clientcmd.BuildConfigFromFlags("", ts.MkAbs(kubeconfig))
	ts.Check(err)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	ts.Check(err)
	served, err := discovery.NewDiscoveryClientForConfig(config)
	ts.Check(err)
	return &writer{config, client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(served)), "author"}
}

// apply is `apply KUBECONFIG FILE [MANAGER]`: it creates the objects of the file, or replaces what they have, in the
// namespace default if they name none, as the field manager author or MANAGER, and then writes their status, as their
// controllers would. It returns when users have the rights that bindings give them. In the file, the uid uid-of:NAME or
// uid-of:NAMESPACE/NAME of an owner is replaced by its real one, as is uid-of:NAME of the claim of a volume, and
// just-now by the time; just-now-micro has it as Leases do.
func apply(ctx context.Context, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: apply KUBECONFIG FILE [MANAGER]")
	}
	w, objects := writerOf(ts, args[0]), documents(ts, args[1])
	if len(args) == 3 {
		w.manager = args[2]
	}
	for _, obj := range objects {
		if err := w.apply(ctx, obj); err != nil {
			ts.Fatalf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
	}
	ts.Check(w.awaitRights(ctx, objects, true))
}

// applyInTurn is `inturn KUBECONFIG N MANAGER FILE...`: it applies N files, of these in turn.
func applyInTurn(ctx context.Context, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: inturn KUBECONFIG N MANAGER FILE...")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	files := args[3:]
	for i := range n {
		apply(ctx, ts, false, []string{args[0], files[i%len(files)], args[2]})
	}
}

// remove is `remove KUBECONFIG FILE`: it deletes the objects of the file, and does not wait for their end, but until
// users no longer have the rights that bindings gave them.
func remove(ctx context.Context, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: remove KUBECONFIG FILE")
	}
	w, objects := writerOf(ts, args[0]), documents(ts, args[1])
	for _, obj := range objects {
		resource, err := w.resource(ctx, obj)
		ts.Check(err)
		ts.Check(resource.Delete(ctx, obj.GetName(), metav1.DeleteOptions{}))
	}
	ts.Check(w.awaitRights(ctx, objects, false))
}

func documents(ts *testscript.TestScript, file string) []*unstructured.Unstructured {
	now := time.Now().UTC()
	text := strings.ReplaceAll(ts.ReadFile(file), "just-now-micro", now.Format(metav1.RFC3339Micro))
	text = strings.ReplaceAll(text, "just-now", now.Format(time.RFC3339))
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var out []*unstructured.Unstructured
	for {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(&obj.Object)
		if errors.Is(err, io.EOF) {
			return out
		}
		ts.Check(err)
		if len(obj.Object) > 0 {
			out = append(out, obj)
		}
	}
}

func (w *writer) resource(ctx context.Context, obj *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	mapping, err := w.mapping(ctx, obj)
	if err != nil {
		return nil, err
	}
	resource := w.client.Resource(mapping.Resource)
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return resource, nil
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace("default")
	}
	return resource.Namespace(obj.GetNamespace()), nil
}

// mapping waits for kinds that are not known: discovery has those of a definition a little after it is established.
func (w *writer) mapping(ctx context.Context, obj *unstructured.Unstructured) (mapping *meta.RESTMapping, err error) {
	gvk := obj.GroupVersionKind()
	waited := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		if mapping, err = w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); meta.IsNoMatchError(err) {
			w.mapper.Reset()
			return false, nil
		}
		return true, err
	})
	if err == nil {
		err = waited
	}
	return mapping, err
}

func (w *writer) apply(ctx context.Context, obj *unstructured.Unstructured) error {
	resource, err := w.resource(ctx, obj)
	if err != nil {
		return err
	}
	if err := w.nameOwners(ctx, obj); err != nil {
		return err
	}
	if err := w.nameClaim(ctx, obj); err != nil {
		return err
	}
	status, hasStatus := obj.Object["status"]
	made, err := resource.Create(ctx, obj, metav1.CreateOptions{FieldManager: w.manager})
	if apierrors.IsAlreadyExists(err) {
		made, err = w.replace(ctx, resource, obj)
	}
	if err != nil {
		return err
	}
	if obj.GetKind() == "CustomResourceDefinition" {
		return established(ctx, resource, obj.GetName())
	}
	if !hasStatus {
		return nil
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		made.Object["status"] = status
		_, err := resource.UpdateStatus(ctx, made, metav1.UpdateOptions{FieldManager: "controller"})
		if apierrors.IsNotFound(err) {
			return nil // the kind has no such subresource: the status was part of the object
		}
		if apierrors.IsConflict(err) {
			made, _ = resource.Get(ctx, obj.GetName(), metav1.GetOptions{})
		}
		return err
	})
}

func (w *writer) replace(ctx context.Context, resource dynamic.ResourceInterface, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var made *unstructured.Unstructured
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		old, err := resource.Get(ctx, obj.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		obj.SetResourceVersion(old.GetResourceVersion())
		made, err = resource.Update(ctx, obj, metav1.UpdateOptions{FieldManager: w.manager})
		return err
	})
	return made, err
}

// nameOwners fills in the uids of owner references.
func (w *writer) nameOwners(ctx context.Context, obj *unstructured.Unstructured) error {
	refs := obj.GetOwnerReferences()
	for i, ref := range refs {
		named, ok := strings.CutPrefix(string(ref.UID), "uid-of:")
		if !ok {
			continue
		}
		namespace, name, elsewhere := strings.Cut(named, "/")
		if !elsewhere {
			namespace, name = obj.GetNamespace(), named
		}
		owner := &unstructured.Unstructured{}
		owner.SetAPIVersion(ref.APIVersion)
		owner.SetKind(ref.Kind)
		owner.SetNamespace(namespace)
		resource, err := w.resource(ctx, owner)
		if err != nil {
			return err
		}
		found, err := resource.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		refs[i].UID = found.GetUID()
	}
	if refs != nil {
		obj.SetOwnerReferences(refs)
	}
	return nil
}

// nameClaim fills in the uid of the claim that a volume is bound to.
func (w *writer) nameClaim(ctx context.Context, obj *unstructured.Unstructured) error {
	uid, _, _ := unstructured.NestedString(obj.Object, "spec", "claimRef", "uid")
	name, ok := strings.CutPrefix(uid, "uid-of:")
	if !ok || obj.GetKind() != "PersistentVolume" {
		return nil
	}
	namespace, _, _ := unstructured.NestedString(obj.Object, "spec", "claimRef", "namespace")
	claim := &unstructured.Unstructured{}
	claim.SetAPIVersion("v1")
	claim.SetKind("PersistentVolumeClaim")
	claim.SetNamespace(namespace)
	resource, err := w.resource(ctx, claim)
	if err != nil {
		return err
	}
	found, err := resource.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return unstructured.SetNestedField(obj.Object, string(found.GetUID()), "spec", "claimRef", "uid")
}

// established waits until the kind of a definition is served.
func established(ctx context.Context, resource dynamic.ResourceInterface, name string) error {
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		crd, err := resource.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions") // null at first
		return slices.ContainsFunc(conditions, func(c any) bool {
			m, _ := c.(map[string]any)
			return m["type"] == "Established" && m["status"] == "True"
		}), nil
	})
}

// youngAges are those that objects have which a script has just made, with the blanks behind them.
var youngAges = regexp.MustCompile(`\b\d{1,3}(m\d{1,2})?s( |$)`)

// masked is `masked FILE`: it writes what the last program printed on stdout to the file, with ages shown as ~, which
// takes the place of the longest one that there may be, so that a table stays one.
func masked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: masked FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(maskAges(ts.ReadFile("stdout"))), 0o600))
}

// maskAges keeps the width of what it masks, but for the end of a line.
func maskAges(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		line = youngAges.ReplaceAllStringFunc(line, func(age string) string { return fmt.Sprintf("%-*s", len(age), "~") })
		fmt.Fprintln(&out, strings.TrimRight(line, " "))
	}
	return out.String()
}

// distrusted is `distrusted KUBECONFIG COPY`: the copy says nothing of the authority that signed the server's
// certificate.
func distrusted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: distrusted KUBECONFIG COPY")
	}
	config, err := clientcmd.LoadFromFile(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, c := range config.Clusters {
		c.CertificateAuthorityData = nil
	}
	ts.Check(clientcmd.WriteToFile(*config, ts.MkAbs(args[1])))
}
