package envtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestReadAdditions(t *testing.T) {
	for _, tt := range []struct {
		environment        map[string]string
		controllers, nodes int // at least so many, exactly so many
		want               string
		reason             string
	}{
		{nil, 0, 0, "", "an API server alone"},
		{map[string]string{controllersVariable: "*", nodesVariable: "3"}, 30, 3, "", "all"},
		{map[string]string{controllersVariable: "deployment, replicaset"}, 2, 0, "", "a list, with a space"},
		{map[string]string{controllersVariable: "none"}, 0, 0, "", "as --controller of sandbox"},
		{map[string]string{controllersVariable: "deploymnt"}, 0, 0, controllersVariable + "=deploymnt: ", "misspelt"},
		{map[string]string{controllersVariable: "-deployment"}, 0, 0, controllersVariable + "=-deployment: ", "nothing"},
		{map[string]string{nodesVariable: "three"}, 0, 0, nodesVariable + "=three is not a number", "no number"},
		{map[string]string{nodesVariable: "-1"}, 0, 0, nodesVariable + "=-1 is not a number", "negative"},
		{map[string]string{traceVariable: "t"}, 0, 0, traceVariable + ": nothing to trace", "nothing that is traced"},
		{map[string]string{traceVariable: "t", nodesVariable: "1"}, 0, 1, "", "nodes are traced"},
	} {
		got, err := readAdditions(func(name string) string { return tt.environment[name] })
		if tt.want != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("%v: %v, want %q: %s", tt.environment, err, tt.want, tt.reason)
			}
			continue
		}
		if err != nil || len(got.controllers) < tt.controllers || got.nodes != tt.nodes {
			t.Errorf("%v: %d controllers, %d nodes, %v: %s", tt.environment, len(got.controllers), got.nodes, err, tt.reason)
		}
	}
}

// Control planes at the same time do not write to the same trace, and a later one begins it again.
func TestOpenTrace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.ndjson")
	open := func(name, want string) *os.File {
		t.Helper()
		file, err := openTrace(name)
		if err != nil {
			t.Fatal(err)
		}
		if file.Name() != want {
			t.Errorf("the trace is %s, want %s", file.Name(), want)
		}
		return file
	}
	first := open(name, name)
	if _, err := first.WriteString("old\n"); err != nil {
		t.Fatal(err)
	}
	second := open(name, strings.TrimSuffix(name, ".ndjson")+"-2.ndjson")
	for _, file := range []*os.File{first, second} {
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	again := open(name, name)
	defer again.Close()
	if info, err := again.Stat(); err != nil || info.Size() != 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("a trace that is begun again: %v, %v", info, err)
	}
	process := open(name+"-%p", name+"-"+strconv.Itoa(os.Getpid()))
	defer process.Close()
	if _, err := openTrace(filepath.Join(name, "under-a-file")); err == nil {
		t.Error("a trace below a file is no error")
	}
}
