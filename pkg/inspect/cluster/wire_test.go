package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
		strip(&list.Items[i])
	}
	return &list, nil
}

func TestDecodeListAsUpstream(t *testing.T) {
	deleted := metav1.Unix(2000, 0)
	items := objects("a", 3)
	items[1].DeletionTimestamp, items[1].DeletionGracePeriodSeconds = &deleted, new(int64(30))
	items[1].GenerateName, items[1].SelfLink = "gen-", "/x"
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
	var got metav1.PartialObjectMetadataList
	if err := answer(protobuf(t, schema.GroupVersionKind{}, &list)).partialList(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("(-upstream +here):\n%s", diff)
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
		var got metav1.PartialObjectMetadataList
		err := decodeList(message, &got)
		want, upstreamErr := upstream(message)
		if upstreamErr != nil {
			return
		}
		if err != nil {
			return // stricter about what is skipped: groups, which nobody has sent for twenty years
		}
		for i := range got.Items {
			strip(&got.Items[i])
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

// FuzzAnswer: whatever a server sends as an object, a page of metadata or a page of objects ends in an error or in objects.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"x","uid":3}}]}`))
	f.Add([]byte(`{"kind":"PodList","apiVersion":"v1","items":{}}`))
	f.Add([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"annotations":[],"managedFields":3}}`))
	f.Add([]byte(protobufPrefix))
	f.Add([]byte(protobufPrefix + "\x12\x00"))
	f.Add([]byte("k8s"))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, body []byte) {
		a := answer(body)
		var one metav1.PartialObjectMetadata
		_ = a.partial(&one)
		var list metav1.PartialObjectMetadataList
		_ = a.partialList(&list)
		for _, kind := range []Kind{pods, widgets} {
			var p page
			if p.decode(a, kind) == nil {
				_ = p.each(kind, false, func(obj *unstructured.Unstructured) error {
					_ = obj.GetName()
					return nil
				})
			}
		}
	})
}
