package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// streamed are the media types of watches.
var streamed = map[string]string{
	runtime.ContentTypeJSON:     "application/json",
	runtime.ContentTypeProtobuf: "application/vnd.kubernetes.protobuf;stream=watch",
}

// encodedEvent is an event as an API server sends it, by upstream's own encoders.
func encodedEvent(t testing.TB, encoding string, kind watch.EventType, object runtime.Object) []byte {
	t.Helper()
	var body bytes.Buffer
	if encoding == runtime.ContentTypeJSON {
		raw, err := json.Marshal(object)
		if err == nil {
			err = json.NewEncoder(&body).Encode(metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: raw}})
		}
		if err != nil {
			t.Fatal(err)
		}
		return body.Bytes()
	}
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &body); err != nil {
		t.Fatal(err)
	}
	event, err := (&metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: body.Bytes()}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := protobuf.LengthDelimitedFramer.NewFrameWriter(&out).Write(event); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func configMap(name, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version, Namespace: "a", GenerateName: "x"},
		Data:       map[string]string{"resourceVersion": "9999"},
	}
}

func gone() *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Code: 410,
		Reason: metav1.StatusReasonExpired}
}

// seen is a frame without its bytes.
type seen struct {
	Kind    watch.EventType
	Version string
}

func TestFrames(t *testing.T) {
	want := []seen{{watch.Added, "7"}, {watch.Modified, "18446744073709551616"}, {watch.Bookmark, "10"},
		{watch.Error, ""}, {watch.Deleted, ""}}
	for encoding, media := range streamed {
		objects := []runtime.Object{configMap("web", "7"), configMap("web", "18446744073709551616"),
			configMap("", "10"), gone(), configMap("gone", "")}
		var all []byte
		for i, object := range objects {
			all = append(all, encodedEvent(t, encoding, want[i].Kind, object)...)
		}
		for reason, body := range map[string]io.Reader{
			"at once": bytes.NewReader(all), "byte by byte": iotest.OneByteReader(bytes.NewReader(all)), "with the end": iotest.DataErrReader(bytes.NewReader(all)),
		} {
			source, err := newFrameReader(media, body)
			if err != nil {
				t.Fatal(err)
			}
			var got []seen
			var data []byte
			for {
				f, err := source.next()
				if err != nil {
					if !errors.Is(err, io.EOF) {
						t.Errorf("%s, %s: %v", encoding, reason, err)
					}
					break
				}
				got, data = append(got, seen{f.kind, f.version}), append(data, f.data...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", encoding, reason, diff)
			}
			if !bytes.Equal(bytes.TrimSpace(data), bytes.TrimSpace(all)) && encoding == runtime.ContentTypeProtobuf {
				t.Errorf("%s, %s: the frames are not what was sent", encoding, reason)
			}
		}
	}
}

func TestBrokenFrames(t *testing.T) {
	whole := encodedEvent(t, runtime.ContentTypeProtobuf, watch.Added, configMap("web", "7"))
	for _, row := range []struct {
		reason, media string
		body          []byte
	}{
		{"cut off in its length", streamed[runtime.ContentTypeProtobuf], whole[:2]},
		{"cut off in an object", streamed[runtime.ContentTypeProtobuf], whole[:len(whole)-1]},
		{"a length beyond the memory of any machine", streamed[runtime.ContentTypeProtobuf], []byte{255, 255, 255, 255, 0}},
		{"a length of what does not come", streamed[runtime.ContentTypeProtobuf], []byte{0, 255, 255, 255, 0}},
		{"no event", streamed[runtime.ContentTypeProtobuf], []byte{0, 0, 0, 2, 255, 255}},
		{"an event of no object", streamed[runtime.ContentTypeProtobuf], []byte{0, 0, 0, 0}},
		{"cut off in JSON", streamed[runtime.ContentTypeJSON], []byte(`{"type":"ADDED","obj`)},
		{"not an event", streamed[runtime.ContentTypeJSON], []byte(`"ADDED"`)},
	} {
		source, err := newFrameReader(row.media, bytes.NewReader(row.body))
		if err != nil {
			t.Fatal(err)
		}
		if f, err := source.next(); err == nil || errors.Is(err, io.EOF) && row.reason != "cut off in its length" {
			t.Errorf("%s: %+v, %v", row.reason, f, err)
		}
	}
	for _, media := range []string{"application/cbor-seq", "text/html", ";;"} {
		if _, err := newFrameReader(media, strings.NewReader("")); err == nil {
			t.Errorf("frames of %q", media)
		}
	}
}

// FuzzFrames: whatever a server sends, nothing panics, and what comes out is what went in, whole frame by whole frame.
func FuzzFrames(f *testing.F) {
	for encoding := range streamed {
		isProtobuf := encoding == runtime.ContentTypeProtobuf
		f.Add(isProtobuf, encodedEvent(f, encoding, watch.Added, configMap("web", "7")))
		f.Add(isProtobuf, encodedEvent(f, encoding, watch.Error, gone()))
		f.Add(isProtobuf, []byte{0, 0, 0, 1, 8})
		f.Add(isProtobuf, []byte(`{}{"type":3}`))
	}
	f.Fuzz(func(t *testing.T, isProtobuf bool, body []byte) {
		media := streamed[runtime.ContentTypeJSON]
		if isProtobuf {
			media = streamed[runtime.ContentTypeProtobuf]
		}
		source, err := newFrameReader(media, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var out []byte
		for range len(body) + 1 {
			one, err := source.next()
			if err != nil {
				break
			}
			out = append(out, one.data...)
		}
		if isProtobuf && !bytes.HasPrefix(body, out) {
			t.Errorf("%q became %q", body, out)
		}
		if len(out) > 2*len(body)+1 {
			t.Errorf("%d bytes became %d", len(body), len(out))
		}
	})
}

// FuzzObjects: a list of any bytes is refused, or is the same after being decoded and encoded.
func FuzzObjects(f *testing.F) {
	list := &corev1.ConfigMapList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "on"}, Items: []corev1.ConfigMap{*configMap("a", "1"),
			*configMap("b", "2")},
	}
	var body bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, &body); err != nil {
		f.Fatal(err)
	}
	text, err := json.Marshal(list)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(true, body.Bytes())
	f.Add(false, text)
	f.Add(true, []byte("k8s\x00\x12\x02\x0a\x7f"))
	f.Fuzz(func(t *testing.T, isProtobuf bool, body []byte) {
		media := runtime.ContentTypeJSON
		if isProtobuf {
			media = runtime.ContentTypeProtobuf
		}
		once, err := decodeList(media, body)
		if err != nil {
			return
		}
		again, err := once.encode()
		if err != nil {
			return // a number that JSON cannot have
		}
		twice, err := decodeList(media, again)
		if err != nil || len(once.items) != len(twice.items) ||
			once.meta.ResourceVersion != twice.meta.ResourceVersion {
			t.Errorf("%q became %q: %v", body, again, err)
		}
	})
}

// TestObjectsAsUpstream: a list that was put together is one for upstream's decoder.
func TestObjectsAsUpstream(t *testing.T) {
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	var all *rawList
	for i := range 3 {
		list := &corev1.ConfigMapList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"},
			ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(i),
				Continue: "on"}, Items: []corev1.ConfigMap{*configMap(fmt.Sprint(i), "1")},
		}
		var body bytes.Buffer
		if err := serializer.Encode(list, &body); err != nil {
			t.Fatal(err)
		}
		one, err := decodeList(runtime.ContentTypeProtobuf, body.Bytes())
		if err == nil {
			all, err = all.append(one)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	all.meta = metav1.ListMeta{ResourceVersion: "7"}
	body, err := all.encode()
	if err != nil {
		t.Fatal(err)
	}
	got := &corev1.ConfigMapList{}
	if _, _, err := serializer.Decode(body, nil, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a/0", "a/1", "a/2"}, namesOf(got.Items)); diff != "" || got.ResourceVersion != "7" ||
		got.Continue != "" {
		t.Errorf("version %q, continue %q (-want +got):\n%s", got.ResourceVersion, got.Continue, diff)
	}
	if _, err := all.append(&rawList{}); err == nil {
		t.Error("lists of two encodings were put together")
	}
}
