package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// recorded is `recorded FILE LINES`: it writes what the recording has to a file, a line for each record, with the header
// first. If the recording is cut off, the last line says so.
func recorded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: recorded FILE LINES")
	}
	file, err := replay.OpenFile(ts.MkAbs(args[0]), replay.ReaderOptions{})
	ts.Check(err)
	defer file.Close()
	var out strings.Builder
	head := file.Header()
	fmt.Fprintf(&out, "HEADER server=%s redacted=%t options=%q\n", head.Server, head.Redacted, head.Options)
	streams := map[int]*replay.Stream{}
	for {
		r, err := file.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Fprintf(&out, "TORN %v\n", err)
			break
		}
		if r.Type == replay.TypeStream {
			streams[r.Stream] = r.NewStream
		}
		fmt.Fprintln(&out, recordedLine(r, streams[r.Stream]))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(out.String()), 0o600))
}

// recordedLine is: TYPE RESOURCE[/NAMESPACE/]NAME [relisted] [OBJECT], or what records of other types have.
func recordedLine(r *replay.Record, stream *replay.Stream) string {
	line := r.Type.String()
	if stream != nil {
		line += " " + stream.GroupResource().String()
	}
	switch {
	case r.Type == replay.TypeStream:
		line += fmt.Sprintf(" namespace=%q labels=%q fields=%q", stream.Namespace, stream.Labels, stream.Fields)
	case r.Type.HasObject():
		line += fmt.Sprintf(" %s/%s", r.Namespace, r.Name)
	}
	if r.Relisted {
		line += " relisted"
	}
	if r.Gap != nil {
		line += fmt.Sprintf(" %s complete=%t", r.Gap.Reason, r.Gap.Complete)
	}
	if r.Message != "" {
		line += " " + r.Message
	}
	if len(r.Object) > 0 {
		line += " " + string(r.Object)
	}
	return line
}
