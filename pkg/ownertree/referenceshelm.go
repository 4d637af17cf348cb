package ownertree

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Helm keeps each revision of a release in a Secret, or if set so in a ConfigMap, with labels of these names
// (helm.sh/helm pkg/storage/driver), and marks what it installs by a label and annotations (pkg/action/validate.go).
const (
	releaseKey        = "release"
	managedBy         = "app.kubernetes.io/managed-by"
	releaseName       = "meta.helm.sh/release-name"
	releaseNamespace  = "meta.helm.sh/release-namespace"
	pastReleases      = "status notin (superseded, uninstalled)"
	largestRelease    = 64 << 20 // bytes, unpacked
	mostInstalled     = 1000     // objects of a release
	mostHelmInstalled = 50       // objects that are looked at for their release
)

// isRelease reports whether the node holds a release of Helm that is in force, or was meant to be.
func isRelease(n *Node) bool {
	kind := n.Kind.GroupKind()
	if kind != secretKind && kind != configMapKind || n.Labels["owner"] != "helm" || n.Labels["name"] == "" {
		return false
	}
	return n.Labels["status"] != "superseded" && n.Labels["status"] != "uninstalled"
}

// readReleases reads what the releases among the users have installed, and of what Helm has installed of those used by
// which release. Where releases are among the users these have it for their namespace.
func (s *relationSource) readReleases(ctx context.Context, users, used []*Node) {
	var group errgroup.Group
	group.SetLimit(maxConcurrentReads)
	withRelease := map[string]bool{}
	for _, n := range users {
		if !isRelease(n) {
			continue
		}
		withRelease[n.Namespace] = true
		if !s.known(n) {
			group.Go(func() error {
				s.readRelease(ctx, n)
				return nil
			})
		}
	}
	installed := slices.DeleteFunc(slices.Clone(used), func(n *Node) bool {
		byHelm := n.Labels[managedBy] == "Helm" && len(n.Owners) == 0
		return !s.asked[n] || !byHelm || withRelease[n.Namespace] || s.installed[n] != nil
	})
	slices.SortFunc(installed, (*Node).Compare)
	for _, n := range installed[:min(len(installed), mostHelmInstalled)] {
		group.Go(func() error {
			s.readInstalled(ctx, n)
			return nil
		})
	}
	_ = group.Wait() // errors are noted
	if more := len(installed) - mostHelmInstalled; more > 0 {
		l := list{kind: installed[mostHelmInstalled].Kind, namespace: installed[mostHelmInstalled].Namespace}
		message := fmt.Sprintf("the Helm releases of %d objects were not looked for", more)
		s.incomplete = append(s.incomplete, tooMany(l, message))
	}
}

// readInstalled reads which release has installed an object.
func (s *relationSource) readInstalled(ctx context.Context, n *Node) {
	annotations, err := s.reader.Annotations(ctx, *n.Kind, n.Namespace, n.Name)
	name, namespace := annotations[releaseName], annotations[releaseNamespace]
	switch {
	case apierrors.IsNotFound(err):
		return
	case err != nil:
		s.failed(n.Kind, n.Namespace, err)
		return
	case name == "" || namespace == "":
		return
	}
	selector, err := labels.Parse("owner=helm, name=" + name + ", " + pastReleases)
	if err != nil {
		return // no release can have such a name
	}
	ref := core("Secret", namespace, "", "installs", "installed by")
	ref.backward, ref.match = true, &matcher{labels: selector}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.installed[n] = []*reference{s.intern(ref)}
}

// readRelease reads what a release has installed.
func (s *relationSource) readRelease(ctx context.Context, n *Node) {
	obj, err := s.reader.Object(ctx, *n.Kind, n.Namespace, n.Name)
	switch {
	case apierrors.IsNotFound(err):
		return
	case err != nil:
		s.failed(n.Kind, n.Namespace, err)
		return
	}
	references, err := s.releaseReferences(n, obj)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		unread := cluster.Target{Kind: *n.Kind, Namespace: n.Namespace}.Incomplete(err)
		unread.Reason = cluster.ReasonUnreadable
		s.incomplete = append(s.incomplete, unread)
	}
	kept := make([]*reference, len(references))
	for i, ref := range references {
		kept[i] = s.intern(ref)
	}
	s.references[n] = kept
}

// releaseReferences are the objects of a release's manifest. Hooks, which Helm deletes or not, are left out.
func (s *relationSource) releaseReferences(n *Node, obj *unstructured.Unstructured) ([]reference, error) {
	packed, _, _ := unstructured.NestedString(obj.Object, "data", releaseKey)
	if n.Kind.GroupKind() == secretKind {
		plain, err := base64.StdEncoding.DecodeString(packed)
		if err != nil {
			return nil, fmt.Errorf("decoding the Helm release %q: %w", n.Name, err)
		}
		packed = string(plain)
	}
	manifest, err := releaseManifest(packed)
	if err != nil {
		return nil, fmt.Errorf("reading the Helm release %q: %w", n.Name, err)
	}
	var out []reference
	reader := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	for len(out) < mostInstalled {
		var fields map[string]any
		if err := reader.Decode(&fields); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return out, fmt.Errorf("reading the manifest of the Helm release %q: %w", n.Name, err)
		}
		installed := &unstructured.Unstructured{Object: fields}
		if len(fields) == 0 || installed.GetName() == "" || installed.GetKind() == "" {
			continue
		}
		gvk := schema.FromAPIVersionAndKind(installed.GetAPIVersion(), installed.GetKind())
		ref := reference{
			relation: "installs", inverse: "installed by", to: gvk.GroupKind(), version: gvk.Version,
			namespace: installed.GetNamespace(), name: installed.GetName(),
		}
		if s.named.clusterScoped(ref.to) {
			ref.namespace = ""
		} else if ref.namespace == "" {
			ref.namespace = n.Namespace
		}
		out = append(out, ref)
	}
	return out, nil
}

// releaseManifest unpacks what Helm keeps of a release: JSON, compressed, in base64.
func releaseManifest(packed string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return "", err
	}
	var in io.Reader = bytes.NewReader(raw)
	if bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) { // the first releases of Helm 3 are not compressed
		if in, err = gzip.NewReader(in); err != nil {
			return "", err
		}
	}
	var release struct {
		Manifest string `json:"manifest"`
	}
	if err := json.NewDecoder(io.LimitReader(in, largestRelease)).Decode(&release); err != nil {
		return "", err
	}
	return release.Manifest, nil
}
