package memstore

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value"
)

// newCodecs returns codecs for the example API that upstream's suite stores.
func newCodecs(tb testing.TB) serializer.CodecFactory {
	tb.Helper()
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	for _, add := range []func(*runtime.Scheme) error{example.AddToScheme, examplev1.AddToScheme} {
		if err := add(scheme); err != nil {
			tb.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(scheme)
}

// fixture is a store with a resource of pods. Its methods are what the suite needs to reach into a store.
type fixture struct {
	*resource
	store       *Store
	codec       *failingCodec
	transformer *swapTransformer // nil in mode Objects, where nothing is transformed
}

var (
	_ storagetesting.InterfaceWithPrefixTransformer   = (*fixture)(nil)
	_ storagetesting.InterfaceWithTransformerOverride = overridable{}
)

const testPrefix = "test!"

func newFixture(tb testing.TB, mode Mode, o Options) *fixture {
	tb.Helper()
	f := &fixture{store: New(o), codec: &failingCodec{Codec: newCodecs(tb).LegacyCodec(examplev1.SchemeGroupVersion)}}
	tb.Cleanup(f.store.Close)
	s, _, err := f.store.Decorator(mode)(f.config(tb), "/pods/", nil, newPod, newPodList, nil, nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	f.resource = s.(*resource)
	if encoded, ok := f.representation.(*encodedRepresentation); ok {
		f.transformer = &swapTransformer{}
		f.transformer.set(storagetesting.NewPrefixTransformer([]byte(testPrefix), false))
		encoded.transformer = f.transformer
	}
	return f
}

func (f *fixture) config(tb testing.TB) *storagebackend.ConfigForResource {
	tb.Helper()
	return storagebackend.NewDefaultConfig("", f.codec).ForResource(example.Resource("pods"))
}

func newPod() runtime.Object     { return &example.Pod{} }
func newPodList() runtime.Object { return &example.PodList{} }

func (f *fixture) compact(_ context.Context, t *testing.T, resourceVersion string) {
	rv, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	f.store.Compact(rv)
	f.store.revision.Add(1) // etcd records a compaction under a separate key
}

// compactWatch also drops the events up to the version, as upstream's tests do in their watch caches: a compaction does
// not.
func (f *fixture) compactWatch(_ context.Context, t *testing.T, resourceVersion string) {
	rv, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	f.store.Compact(rv)
	f.table.mu.Lock()
	defer f.table.mu.Unlock()
	f.table.history.drop(f.table.history.index(rv))
}

func (f *fixture) increaseRV(context.Context, *testing.T) int64 {
	return signed(f.store.revision.Add(1))
}

// UpdatePrefixTransformer implements storagetesting.InterfaceWithPrefixTransformer.
func (f *fixture) UpdatePrefixTransformer(modify storagetesting.PrefixTransformerModifier) func() {
	original := f.transformer.get()
	clone := *original.(*storagetesting.PrefixTransformer)
	f.transformer.set(modify(&clone))
	return func() { f.transformer.set(original) }
}

// overridable is a fixture whose whole transformer can be replaced.
type overridable struct{ *fixture }

// UpdateTransformer implements storagetesting.InterfaceWithTransformerOverride.
func (o overridable) UpdateTransformer(modify storagetesting.TransformerModifier) func() {
	original := o.transformer.get()
	o.transformer.set(modify(original))
	return func() { o.transformer.set(original) }
}

// swapTransformer is a transformer that can be replaced while watches use it.
type swapTransformer struct {
	current atomic.Pointer[value.Transformer]
}

func (s *swapTransformer) get() value.Transformer  { return *s.current.Load() }
func (s *swapTransformer) set(t value.Transformer) { s.current.Store(&t) }

func (s *swapTransformer) TransformFromStorage(
	ctx context.Context, data []byte, dataCtx value.Context,
) ([]byte, bool, error) {
	return s.get().TransformFromStorage(ctx, data, dataCtx)
}

func (s *swapTransformer) TransformToStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, error) {
	return s.get().TransformToStorage(ctx, data, dataCtx)
}

// failingCodec is a codec that can be told to fail.
type failingCodec struct {
	runtime.Codec
	failing atomic.Bool
}

func (c *failingCodec) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	if c.failing.Load() {
		return nil, nil, errors.New("synthetic error")
	}
	return c.Codec.Decode(data, defaults, into)
}

// checkStored is the storagetesting.KeyValidation of etcd3's tests: what is stored has no resource version.
func (f *fixture) checkStored(_ context.Context, t *testing.T, key string) {
	e, _ := f.table.get(key)
	if e == nil {
		t.Fatalf("nothing stored under %q", key)
	}
	if e.object != nil {
		return
	}
	obj, err := runtime.Decode(f.codec, e.data[len(testPrefix):])
	if err != nil {
		t.Fatal(err)
	}
	if rv := obj.(*example.Pod).ResourceVersion; rv != "" {
		t.Errorf("stored with resource version %q", rv)
	}
}

// checkReads returns a storagetesting.CallsValidation: a list decodes no more objects than it has to.
func (f *fixture) checkReads(t *testing.T, _, want uint64) {
	if f.transformer == nil {
		return
	}
	if got := f.transformer.get().(*storagetesting.PrefixTransformer).GetReadsAndReset(); got != want {
		t.Errorf("%d objects decoded, want %d", got, want)
	}
}
