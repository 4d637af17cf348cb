package cluster

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// upstream decodes with what upstream generated, and then drops what is not decoded here.
func upstream(message []byte) (*metav1.PartialObjectMetadataList, error) {
	var list metav1.PartialObjectMetadataList
	if err := list.Unmarshal(message); err != nil {
		return nil, err
	}
	for i := range list.Items {
		dropLargeMetadata(&list.Items[i])
	}
	return &list, nil
}

// streamed reads an answer as it arrives, byte by byte.
func streamed(ctx context.Context, body []byte) (*metav1.PartialObjectMetadataList, error) {
	var got metav1.PartialObjectMetadataList
	p := metadataPage{seen: seenUIDs{}, each: func(batch []metav1.PartialObjectMetadata) { got.Items = append(got.Items, batch...) }}
	var left unusable
	err := (&Reader{}).readPage(ctx, iotest.OneByteReader(bytes.NewReader(body)), &p, &left)
	p.flush()
	got.ListMeta = p.list
	if err == nil {
		err = left.err()
	}
	return &got, err
}

func TestDecodeListAsUpstream(t *testing.T) {
	deleted := metav1.Unix(2000, 0)
	items := objects("a", 3)
	items[1].DeletionTimestamp, items[1].DeletionGracePeriodSeconds = &deleted, new(int64(30))
	items[1].GenerateName = "gen-"
	items[2] = metav1.PartialObjectMetadata{}
	list := metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{Continue: "c", ResourceVersion: "9", RemainingItemCount: new(int64(4))}, Items: items}
	message, err := list.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	want, err := upstream(message)
	if err != nil {
		t.Fatal(err)
	}
	got, err := streamed(t.Context(), protobuf(t, schema.GroupVersionKind{}, &list))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-upstream +here):\n%s", diff)
	}
}

// enveloped is the answer that holds the message.
func enveloped(message []byte) []byte {
	envelope := binary.AppendUvarint([]byte(protobufPrefix+"\x12"), uint64(len(message)))
	return append(envelope, message...)
}

// TestBrokenStream: an answer that ends too early, or whose lengths lie, is an error, and the objects before it are
// passed on.
func TestBrokenStream(t *testing.T) {
	list := metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: objects("a", batchSize+2)}
	message, err := list.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	whole := enveloped(message)
	for _, tt := range []struct {
		reason string
		body   []byte
		items  int
	}{
		{"the last object is cut off", whole[:len(whole)-3], batchSize + 1},
		{"nothing but a promise", whole[:len(protobufPrefix)+2], 0},
		{"an object longer than the list", append([]byte(protobufPrefix), 0x12, 0x03, 0x12, 0x7f, 0x00), 0},
		{"a length that no number can hold", append([]byte(protobufPrefix), 0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), 0},
		{"a number that never ends", append([]byte(protobufPrefix), 0x12, 0x0b, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), 0},
		{"a tag that never ends", append([]byte(protobufPrefix), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), 0},
		{"a field of no known type", append([]byte(protobufPrefix), 0x12, 0x01, 0x13), 0},
		{"no list at all", []byte(protobufPrefix), 0},
		{"metadata that is none", append([]byte(protobufPrefix), 0x12, 0x03, 0x0a, 0x01, 0xff), 0},
	} {
		got, err := streamed(t.Context(), tt.body)
		if !errors.Is(err, errUnreadable) || len(got.Items) != tt.items {
			t.Errorf("%s: %d objects, want %d; %v", tt.reason, len(got.Items), tt.items, err)
		}
	}
	if got, err := streamed(t.Context(), whole); err != nil || len(got.Items) != batchSize+2 {
		t.Errorf("the whole list: %d objects, %v", len(got.Items), err)
	}
}

// TestHostileLengths: a length alone allocates no memory.
func TestHostileLengths(t *testing.T) {
	const promised = 1 << 40
	list := binary.AppendUvarint(protowire.AppendTag(nil, fieldOfListItems, protowire.BytesType), promised)
	body := binary.AppendUvarint([]byte(protobufPrefix+"\x12"), promised+uint64(len(list)))
	body = append(body, list...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := streamed(t.Context(), body)
	_ = answer(body).decodeMetadata(&metav1.PartialObjectMetadata{})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, errUnreadable) {
		t.Errorf("an answer of %d bytes that promises %d: %v", len(body), promised, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("%d bytes were allocated for an answer of %d", took, len(body))
	}
}

// FuzzDecodeList: no answer panics, and what upstream's decoder takes is decoded alike.
func FuzzDecodeList(f *testing.F) {
	for n := range 3 {
		list := metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{Continue: "c"}, Items: objects("a", n)}
		message, err := list.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(message)
	}
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{0x12, 0x02, 0x0a, 0x05})
	f.Add([]byte{0x13})
	f.Fuzz(func(t *testing.T, message []byte) {
		got, err := streamed(t.Context(), enveloped(message))
		want, upstreamErr := upstream(message)
		if upstreamErr != nil {
			return
		}
		if err != nil {
			return // stricter about what is skipped: groups, which no server sends
		}
		if got.Continue != "" { // of several pages every object is passed on once
			return
		}
		for i := range got.Items {
			dropLargeMetadata(&got.Items[i])
		}
		if len(got.Items) != len(want.Items) {
			t.Fatalf("%d items, upstream %d", len(got.Items), len(want.Items))
		}
		for i := range got.Items {
			if got.Items[i].Name != want.Items[i].Name || got.Items[i].UID != want.Items[i].UID || len(got.Items[i].OwnerReferences) != len(want.Items[i].OwnerReferences) {
				t.Errorf("item %d: %+v, upstream %+v", i, got.Items[i].ObjectMeta, want.Items[i].ObjectMeta)
			}
		}
	})
}

// FuzzAnswer: whatever a server sends as an object, a page of metadata or a page of objects ends in an error or in
// objects.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"x","uid":3}}]}`))
	f.Add([]byte(`{"kind":"PodList","apiVersion":"v1","items":{}}`))
	f.Add([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"annotations":[],"managedFields":3}}`))
	f.Add([]byte(protobufPrefix))
	f.Add([]byte(protobufPrefix + "\x12\x00"))
	f.Add([]byte("k8s"))
	pod := typed(f, &corev1.PodList{Items: []corev1.Pod{{Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c"}}}}}})
	f.Add(pod)
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, body []byte) {
		a := answer(body)
		var one metav1.PartialObjectMetadata
		_ = a.decodeMetadata(&one)
		_, _ = streamed(t.Context(), body)
		for _, kind := range []Kind{pods, widgets} {
			p := objectPage{kind: kind, omit: omittedForStatus(kind.GroupVersionKind), each: func(obj *unstructured.Unstructured) error {
				_ = obj.GetName()
				return nil
			}}
			_ = (&Reader{}).readPage(t.Context(), bytes.NewReader(body), &p, &unusable{})
		}
		lean := typedPage{
			seen: seenUIDs{}, omit: omittedForReferences(pods.GroupVersionKind),
			newObject: func() Typed { return &corev1.Pod{} }, each: func(Typed) error { return nil },
		}
		_ = (&Reader{}).readPage(t.Context(), bytes.NewReader(body), &lean, &unusable{})
	})
}
