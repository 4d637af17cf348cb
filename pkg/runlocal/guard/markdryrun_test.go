package guard

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestMarksKeepTheRest: nothing but dryRun differs after options were marked.
func TestMarksKeepTheRest(t *testing.T) {
	grace, uid, orphan := int64(7), pod("").UID, metav1.DeletePropagationOrphan
	options := metav1.DeleteOptions{
		GracePeriodSeconds: &grace, PropagationPolicy: &orphan, Preconditions: &metav1.Preconditions{UID: &uid},
	}
	for _, media := range []string{asJSON, asProtobuf} {
		for _, dryRun := range [][]string{nil, {"All"}} {
			options := options
			options.DryRun = dryRun
			marked, err := markDelete(media, encoded(t, media, corev1.SchemeGroupVersion, &options))
			if err != nil {
				t.Fatal(err)
			}
			want := options
			want.DryRun = []string{"All"}
			if diff := cmp.Diff(&want, optionsIn(t, marked)); diff != "" {
				t.Errorf("%s with dryRun %v (-want +got):\n%s", media, dryRun, diff)
			}
		}
	}
}

func optionsIn(t testing.TB, body []byte) *metav1.DeleteOptions {
	t.Helper()
	options := &metav1.DeleteOptions{}
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, options); err != nil {
		t.Fatal(err)
	}
	options.TypeMeta = metav1.TypeMeta{}
	return options
}

// TestMarksKeepUnknownFields: those of a newer version of the API are the caller's will, too.
func TestMarksKeepUnknownFields(t *testing.T) {
	marked, err := markDelete(asJSON, []byte(`{"kind":"DeleteOptions","apiVersion":"v1","new":{"a":1}}`))
	if err != nil || string(marked) != `{"apiVersion":"v1","dryRun":["All"],"kind":"DeleteOptions","new":{"a":1}}` {
		t.Errorf("marked JSON is %s (%v)", marked, err)
	}
	const field100 = "\xa2\x06\x03new" // 100, of three bytes
	raw, err := markDeleteRaw([]byte(field100))
	if want := field100 + "\x2a\x03All"; err != nil || string(raw) != want {
		t.Errorf("marked protobuf is %q (%v), want %q", raw, err, want)
	}
}

// TestForeignDryRun: what says something else about dry runs is refused rather than guessed at.
func TestForeignDryRun(t *testing.T) {
	options := &metav1.DeleteOptions{DryRun: []string{"Some"}}
	eviction := &policyv1.Eviction{DeleteOptions: options}
	if marked, err := markDelete(asProtobuf, encoded(t, asProtobuf, corev1.SchemeGroupVersion, options)); err == nil {
		t.Errorf("options are marked as %q", marked)
	}
	if marked, err := markEviction(asProtobuf,
		encoded(t, asProtobuf, policyv1.SchemeGroupVersion, eviction)); err == nil {
		t.Errorf("an eviction is marked as %q", marked)
	}
	marked, err := markDelete(asJSON, encoded(t, asJSON, corev1.SchemeGroupVersion, options))
	if err != nil || !cmp.Equal(optionsIn(t, marked).DryRun, []string{"All"}) {
		t.Errorf("options are marked as %s (%v)", marked, err)
	}
}

// FuzzMarkDelete: whatever body goes out is read by a server as a dry run; all others are refused.
func FuzzMarkDelete(f *testing.F) {
	grace := int64(0)
	options := &metav1.DeleteOptions{GracePeriodSeconds: &grace, DryRun: []string{"All"}}
	for _, media := range []string{asJSON, asProtobuf} {
		f.Add(media == asJSON, encoded(f, media, corev1.SchemeGroupVersion, options))
		f.Add(media == asJSON, encoded(f, media, corev1.SchemeGroupVersion, &metav1.DeleteOptions{}))
	}
	f.Add(true, []byte(`{"dryRun":[],"dryRun":null}`))
	f.Add(true, []byte(`{"DryRun":["None"]}{`))
	f.Add(false, []byte("k8s\x00\x0a\x00\x12\x02\x2a\x00"))
	f.Fuzz(func(t *testing.T, isJSON bool, body []byte) {
		media := asProtobuf
		if isJSON {
			media = asJSON
		}
		marked, err := markDelete(media, body)
		if err != nil {
			return
		}
		if got, ok := serverReads(media, marked, &metav1.DeleteOptions{}); ok &&
			!slices.Equal(got.DryRun, []string{"All"}) {
			t.Errorf("%q becomes %q, which a server reads as dryRun %q", body, marked, got.DryRun)
		}
	})
}

// FuzzMarkEviction is the same for evictions: without options in the body, the query counts.
func FuzzMarkEviction(f *testing.F) {
	grace := int64(0)
	for _, media := range []string{asJSON, asProtobuf} {
		for _, options := range []*metav1.DeleteOptions{nil, {GracePeriodSeconds: &grace}, {DryRun: []string{"All"}}} {
			eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web"}, DeleteOptions: options}
			f.Add(media == asJSON, encoded(f, media, policyv1.SchemeGroupVersion, eviction))
		}
	}
	f.Add(true, []byte(`{"deleteOptions":{"dryRun":[]},"deleteOptions":null}`))
	f.Fuzz(func(t *testing.T, isJSON bool, body []byte) {
		media := asProtobuf
		if isJSON {
			media = asJSON
		}
		marked, err := markEviction(media, body)
		if err != nil {
			return
		}
		got, ok := serverReads(media, marked, &policyv1.Eviction{})
		if ok && got.DeleteOptions != nil && !slices.Equal(got.DeleteOptions.DryRun, []string{"All"}) {
			t.Errorf("%q becomes %q, which a server reads as dryRun %q", body, marked, got.DeleteOptions.DryRun)
		}
	})
}

// serverReads decodes a body as a server does, if it can: JSON with the case of names, protobuf in its envelope.
func serverReads[T runtime.Object](media string, body []byte, into T) (T, bool) {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	kinds, _, err := scheme.Scheme.ObjectKinds(into)
	if err != nil {
		return into, false
	}
	obj, _, err := info.Serializer.Decode(body, &kinds[0], into)
	got, ok := obj.(T)
	return got, err == nil && ok
}

// FuzzDecodeObject: bodies that clients send are objects or errors, and what was read is written again.
func FuzzDecodeObject(f *testing.F) {
	f.Add(true, []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","labels":null}}`))
	f.Add(true, []byte(`{"metadata":[]}`))
	f.Add(false, encoded(f, asProtobuf, corev1.SchemeGroupVersion, pod("web")))
	f.Fuzz(func(t *testing.T, isJSON bool, body []byte) {
		media := asProtobuf
		if isJSON {
			media = asJSON
		}
		o, err := decodeObject(media, body)
		if err != nil {
			return
		}
		again, err := o.encode()
		if err != nil {
			return
		}
		if _, ok := o.object.(*unstructured.Unstructured); ok && !json.Valid(again) {
			t.Errorf("%q becomes %q", body, again)
		}
		if _, err := decodeObject(media, again); err != nil {
			t.Errorf("%q becomes %q, which cannot be decoded: %v", body, again, err)
		}
	})
}
