package load

import (
	"context"
	"errors"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"
)

// fillStore makes the first family by requests, and writes the others to the store like it, each in one transaction.
func (f *filler) fillStore(ctx context.Context, o Options) (err error) {
	first, err := f.family(ctx, o.namespace(o.First), o.First)
	if err != nil {
		return err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{o.Etcd}, Context: ctx})
	if err != nil {
		return fmt.Errorf("making a client of the store at %s: %w", o.Etcd, err)
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(o.Parallel)
	for n := o.First + 1; n < o.First+o.Families(); n++ {
		group.Go(func() error {
			puts, err := first.like(f, o.namespace(n), n).puts()
			if err != nil {
				return err
			}
			if _, err := client.Txn(inner).Then(puts...).Commit(); err != nil {
				return fmt.Errorf("writing Deployment %d and what it owns to the store: %w", n, err)
			}
			f.add(len(puts))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	// All that a transaction wrote has one revision, and a watch cache that has the first of it counts as up to date.
	// One that has seen a later revision has the rest, too.
	if _, err := client.Put(ctx, "/filled", ""); err != nil {
		return fmt.Errorf("writing to the store: %w", err)
	}
	return nil
}

// like is the n-th family, as the filler would have made it by requests: it differs from f in names, identifiers and
// addresses.
func (f *family) like(by *filler, namespace string, n int) *family {
	made := &family{deployment: f.deployment.DeepCopy()}
	fresh := by.deployment(n)
	renew(&made.deployment.ObjectMeta, fresh.ObjectMeta, namespace)
	made.deployment.Spec.Selector = fresh.Spec.Selector
	made.deployment.Spec.Template.Labels = fresh.Spec.Template.Labels
	made.deployment.Status = deploymentStatus(made.deployment)
	for i, set := range f.sets {
		set, fresh := set.DeepCopy(), replicaSet(made.deployment, n, i+1)
		renew(&set.ObjectMeta, fresh.ObjectMeta, namespace)
		set.Spec.Selector, set.Spec.Template.Labels = fresh.Spec.Selector, fresh.Spec.Template.Labels
		made.sets = append(made.sets, set)
	}
	for i, p := range f.pods {
		p := p.DeepCopy()
		renew(&p.ObjectMeta, pod(made.sets[revisions-1], n, i).ObjectMeta, namespace)
		old := p.Status.PodIP
		p.Status = podStatus(p, n*pods+i)
		rekey(&p.ObjectMeta, old, p.Status.PodIP)
		made.pods = append(made.pods, p)
	}
	return made
}

// renew makes meta that of another object with as many owners, and such as is stored.
func renew(meta *metav1.ObjectMeta, fresh metav1.ObjectMeta, namespace string) {
	for i, owner := range meta.OwnerReferences {
		rekey(meta, string(owner.UID), string(fresh.OwnerReferences[i].UID))
	}
	meta.Name, meta.Namespace, meta.UID, meta.ResourceVersion = fresh.Name, namespace, uuid.NewUUID(), ""
	meta.Labels, meta.OwnerReferences = fresh.Labels, fresh.OwnerReferences
}

// rekey changes what an element of a list is called by in managedFields.
func rekey(meta *metav1.ObjectMeta, from, to string) {
	for _, fields := range meta.ManagedFields {
		fields.FieldsV1.SetRawString(strings.ReplaceAll(fields.FieldsV1.GetRawString(), `\"`+from+`\"`, `\"`+to+`\"`))
	}
}

// puts are what stores the family, under the keys that a kube-apiserver uses unless it is told otherwise.
func (f *family) puts() ([]clientv3.Op, error) {
	objects := map[string]runtime.Object{key("deployments", f.deployment): f.deployment}
	for _, rs := range f.sets {
		objects[key("replicasets", rs)] = rs
	}
	for _, p := range f.pods {
		objects[key("pods", p)] = p
	}
	stored := scheme.Codecs.EncoderForVersion(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme),
		schema.GroupVersions{appsv1.SchemeGroupVersion, corev1.SchemeGroupVersion})
	var puts []clientv3.Op
	for key, object := range objects {
		data, err := runtime.Encode(stored, object)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", key, err)
		}
		puts = append(puts, clientv3.OpPut(key, string(data)))
	}
	return puts, nil
}

func key(resource string, o metav1.Object) string {
	return "/registry/" + resource + "/" + o.GetNamespace() + "/" + o.GetName()
}
