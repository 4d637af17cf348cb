package replay

import (
	"bytes"
	"math/rand"
	"strings"
	"testing"
)

func TestDelta(t *testing.T) {
	object := `{"metadata":{"name":"web-7d9f","resourceVersion":"48123","managedFields":[{"manager":"kubelet","time":` +
		`"2026-11-27T10:04:05Z"}]},"spec":{"containers":[{"name":"web","image":"nginx:1.27","value":null}]},"status":` +
		`{"phase":"Pending","conditions":[{"type":"Ready","status":"False"}]}}`
	for _, test := range []struct {
		reason       string
		base, target string
		most         int // bytes
	}{
		{"nothing changed", object, object, 6},
		{"nothing", "", "", 1},
		{"the first version", "", object, len(object) + 4},
		{"nothing is left", object, "", 1},
		{"a version of the same length", object, strings.Replace(object, "48123", "48199", 1), 14},
		{
			"times and versions", object,
			strings.NewReplacer("48123", "48199", "10:04:05", "10:04:17").Replace(object), 20,
		},
		{"a longer word", object, strings.Replace(object, "Pending", "ContainerCreating", 1), 35},
		{"a field that is set to null", object, strings.Replace(object, `"Pending"`, "null", 1), 20},
		{"a field that is gone", object, strings.Replace(object, `,"value":null`, "", 1), 20},
		{"another order of fields", object, `{"status":{"phase":"Pending"},` + object[1:], 50},
		{"one byte at the end", object, object + "\n", 10},
		{"one byte less", object, object[:len(object)-1], 8},
		{"nothing in common", strings.Repeat("a", 1000), strings.Repeat("b", 1000), 1005},
		{"the same again and again", strings.Repeat("ab", 500), strings.Repeat("ab", 5000), 200},
	} {
		t.Run(test.reason, func(t *testing.T) {
			d := differ{}
			delta := d.appendDelta(nil, []byte(test.base), []byte(test.target))
			got, err := applyDelta(nil, delta, []byte(test.base), 1<<20)
			if err != nil || string(got) != test.target {
				t.Fatalf("got %q, %v", got, err)
			}
			if len(delta) > test.most {
				t.Errorf("%d bytes for %d, instead of at most %d", len(delta), len(test.target), test.most)
			}
		})
	}
}

func TestDeltaIsRefused(t *testing.T) {
	base := []byte("0123456789")
	for _, test := range []struct {
		reason string
		delta  []byte
		want   string
	}{
		{"nothing", nil, "damaged: number ends early"},
		{"no operations", []byte{5}, "damaged: number ends early"},
		{"an operation without bytes", []byte{5, 0}, "damaged: delta of a wrong length"},
		{"an operation past the end", []byte{5, 12, 'a', 'b', 'c', 'd', 'e', 'f'}, "damaged: delta of a wrong length"},
		{"bytes that are missing", []byte{5, 10, 'a'}, "damaged: delta ends early"},
		{"a copy without position", []byte{5, 11}, "damaged: delta ends early"},
		{"a copy before the base", []byte{5, 11, 1}, "damaged: delta copies from outside of its base"},
		{"a copy behind the base", []byte{5, 11, 12}, "damaged: delta copies from outside of its base"},
		{
			"a position that overflows", []byte{6, 3, 18, 11, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
			"damaged: delta copies from outside of its base",
		},
		{"bytes at the end", []byte{1, 2, 'a', 'b'}, "damaged: delta has bytes at its end"},
		{"a result over the limit", []byte{101}, "object of 101 is over the limit of 100"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			if got, err := applyDelta(nil, test.delta, base, 100); err == nil || err.Error() != test.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// TestDeltaOfEdits makes random edits, as versions of one object have them.
func TestDeltaOfEdits(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	var d differ
	base := make([]byte, 3000)
	for i := range base {
		base[i] = `{"abcdef":0123456789}`[rng.Intn(21)]
	}
	for range 3000 {
		target := bytes.Clone(base)
		for range rng.Intn(6) {
			at := rng.Intn(len(target) + 1)
			end := min(len(target), at+rng.Intn(30))
			text := make([]byte, rng.Intn(30))
			for i := range text {
				text[i] = byte('A' + rng.Intn(26))
			}
			target = append(append(bytes.Clone(target[:at]), text...), target[end:]...)
		}
		delta := d.appendDelta(nil, base, target)
		got, err := applyDelta(nil, delta, base, 1<<20)
		if err != nil || !bytes.Equal(got, target) {
			t.Fatalf("%q to %q: %q, %v", base, target, got, err)
		}
		if len(delta) > 6*60 {
			t.Fatalf("%d bytes for at most 5 edits of 29 bytes", len(delta))
		}
		base = target
	}
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), []byte("0123456789xabcdef"), []byte{5, 11, 0})
	f.Add([]byte(strings.Repeat("ab", 50)), []byte(strings.Repeat("ba", 50)), []byte{200, 1, 11, 0, 11, 9})
	f.Fuzz(func(t *testing.T, base, target, delta []byte) {
		var d differ
		made := d.appendDelta(nil, base, target)
		if got, err := applyDelta(nil, made, base, int64(len(target))); err != nil || !bytes.Equal(got, target) {
			t.Fatalf("%q to %q: %q, %v", base, target, got, err)
		}
		const limit = 1 << 16
		if got, err := applyDelta(nil, delta, base, limit); err == nil && len(got) > limit {
			t.Fatalf("%d bytes", len(got))
		}
	})
}
