package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// recordConfigMap writes a recording of a ConfigMap that is changed once. Package recorder records a cluster.
func recordConfigMap(to io.Writer) error {
	begin := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	w, err := replay.NewWriter(to, replay.Header{Start: begin}, replay.WriterOptions{})
	if err != nil {
		return err
	}
	object := func(typ replay.Type, version, value string) *replay.Record {
		return &replay.Record{
			Type: typ, Stream: 1, Namespace: "shop", Name: "settings", UID: "u", ResourceVersion: version,
			Object: fmt.Appendf(nil, `{"metadata":{"name":"settings","namespace":"shop","uid":"u","resourceVersion":%q},`+
				`"data":{"key":%q}}`, version, value),
		}
	}
	for i, r := range []*replay.Record{
		{Type: replay.TypeStream, Stream: 1, NewStream: &replay.Stream{
			Number: 1, Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true,
		}},
		{Type: replay.TypeListBegin, Stream: 1},
		object(replay.TypeListItem, "5", "before"),
		{Type: replay.TypeListEnd, Stream: 1, ResourceVersion: "7"},
		object(replay.TypeModified, "9", "after"),
		{Type: replay.TypeEnd},
	} {
		r.Time = begin.Add(time.Duration(i) * time.Second)
		if err := w.Write(r); err != nil {
			return err
		}
	}
	return w.Close()
}

// A recording is read in order, and then as it was at its start. OpenFile opens one in a file.
func Example() {
	var file bytes.Buffer
	if err := recordConfigMap(&file); err != nil {
		fmt.Println(err)
		return
	}
	recording, err := replay.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), replay.ReaderOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		record, err := recording.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		if record.Object != nil { // others begin and end lists, or tell that nothing was received
			fmt.Println(record.Number, record.Time.Format(time.TimeOnly), record.Type, record.Name)
		}
	}

	state, err := recording.Seek(replay.Moment{Start: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for key, record := range state.Objects() {
		fmt.Println(key.Name, "was", string(record.Object))
	}
	// Output:
	// 3 10:00:02 LIST settings
	// 5 10:00:04 MODIFIED settings
	// settings was {"metadata":{"name":"settings","namespace":"shop","uid":"u","resourceVersion":"5"},"data":{"key":"before"}}
}
