package argocd

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unexpectedValues are put where a check expects something else.
func unexpectedValues() []any {
	deep := any("end")
	for range defaultLimits.depth / 2 {
		deep = map[string]any{"conditions": []any{deep}}
	}
	many := make([]any, 500)
	for i := range many {
		many[i] = map[string]any{"type": "Ready", "status": "False", "message": strings.Repeat("x", 500)}
	}
	return []any{
		nil, true, "", "text", "%d%s%n", strings.Repeat("9", 10_000), int64(-1), int64(math.MaxInt64), 1e300, -0.5,
		[]any{}, []any{nil, "x", map[string]any{}}, map[string]any{}, map[string]any{"status": int64(1)}, deep, many,
	}
}

// TestEveryCheckIsBounded gives each check objects that are not as it expects: objects that Argo CD tests it with,
// each field replaced by unexpected values, and whole objects that no controller would write.
func TestEveryCheckIsBounded(t *testing.T) {
	unexpected := unexpectedValues()
	for _, name := range shippedChecks(t) {
		t.Run(name, func(t *testing.T) {
			compiled, err := compileFile(Shipped().files, path.Join(name, scriptName))
			if err != nil {
				t.Fatal(err)
			}
			try := func(object map[string]any) {
				t.Helper()
				_, err := run(compiled, object, defaultLimits)
				if err != nil && (strings.Contains(err.Error(), "runtime error") || errors.Is(err, errTooLong)) {
					t.Errorf("%v on %.300v", err, object)
				}
			}
			for _, status := range unexpected {
				try(map[string]any{"status": status})
				try(map[string]any{"status": status, "spec": status, "metadata": status})
				try(map[string]any{"spec": map[string]any{}, "status": map[string]any{
					"conditions": status, "phase": status, "state": status, "health": status, "message": status,
				}})
			}
			try(nil)
			cases := casesOf(t, name)
			object := cases[len(cases)-1].object(t, name)
			delete(object, "metadata")
			object["spec"] = map[string]any{}
			few := []any{nil, true, "text", int64(math.MaxInt64), []any{nil, "x"}, map[string]any{"status": int64(1)}}
			replaceEach(object["status"], few, func() { try(object) })
		})
	}
}

// replaceEach sets each value below v to each of the replacements in turn.
func replaceEach(v any, unexpected []any, try func()) {
	switch v := v.(type) {
	case map[string]any:
		for name, was := range v {
			for _, other := range unexpected {
				v[name] = other
				try()
			}
			v[name] = was
			replaceEach(was, unexpected, try)
		}
	case []any:
		for i, was := range v {
			if i > 0 {
				break // the others are alike
			}
			for _, other := range unexpected {
				v[i] = other
				try()
			}
			v[i] = was
			replaceEach(was, unexpected, try)
		}
	}
}

// TestObjectsTooLarge: an object that has more than a check is given is not converted.
func TestObjectsTooLarge(t *testing.T) {
	nested := any("end")
	for range 100_000 {
		nested = []any{nested}
	}
	long := make([]any, defaultLimits.values+1)
	tests := []struct {
		reason string
		object map[string]any
		want   error
	}{
		{"deep", map[string]any{"status": nested}, errTooLarge},
		{"long", map[string]any{"status": map[string]any{"conditions": long}}, errTooLarge},
		{"many texts, none of which is copied", map[string]any{"spec": strings.Repeat("x", 10<<20)}, nil},
		{"managed fields are not counted", map[string]any{"metadata": map[string]any{"managedFields": long}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if _, err := Shipped().Health("cert-manager.io", "Certificate", tt.object); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

// TestHostilePrograms: no program, whatever the object is, can block or crash the process.
func TestHostilePrograms(t *testing.T) {
	tests := []struct{ reason, program, want string }{
		{"a loop without end", `while true do end`, errTooLong.Error()},
		{"a repeat without end", `repeat until false`, errTooLong.Error()},
		{"a goto without end", `::again:: goto again`, errTooLong.Error()},
		{"a recursion without end", `function f() return 1 + f() end f()`, "stack overflow"},
		{"a tail call without end", `function f() return f() end f()`, errTooLong.Error()},
		{"a text that doubles", `s = "xxxxxxxx" while true do s = s .. s end`, errTooMuchText.Error()},
		{"one that doubles by parts", `t = {"x"} while true do s = table.concat(t, "xxxx") t = {s, s} end`, errTooMuchText.Error()},
		{"one that doubles by a replacement", `s = "xx" while true do s = string.gsub(s, "x", "xx") end`, "too often"},
		{"one that doubles by long replacements", `s = obj.long while true do s = string.gsub(s, "^x", s) end`, errTooMuchText.Error()},
		{"upper case again and again", `s = obj.long while true do string.upper(s) end`, errTooMuchText.Error()},
		{"a wide format", `string.format("%1000000000d", 1)`, "invalid format"},
		{"a format that grows", `s = "x" while true do s = string.format("%s%s", s, s) end`, errTooMuchText.Error()},
		{"texts are not repeated", `string.rep("x", 1000000000)`, "non-function"},
		{"a table filled up to an index", `t = {} t[60000000] = 1`, "too large"},
		{"by its constructor", `t = {[60000000] = 1}`, "too large"},
		{"by a key of the object", `t = {} t[obj.n] = 1`, "too large"},
		{"by insert", `table.insert({}, 60000000, 1)`, "out of bounds"},
		{"a table that grows", `t = {} while true do t[#t + 1] = {} end`, "too large"},
		{"tables in one another", `t = {} while true do t = {t} end`, errTooLong.Error()},
		{"an insertion at the front", `t = {} while true do table.insert(t, 1, 1) end`, errTooLong.Error()},
		{"a sort again and again", `while true do table.sort(obj.list) end`, errTooLong.Error()},
		{"a sort that never ends", `table.sort(obj.list, function(a, b) while true do end end)`, errTooLong.Error()},
		{"a sort of itself", `f = function(a, b) table.sort({2, 1}, f) end table.sort({2, 1}, f)`, "stack overflow"},
		{"many values on the stack, on which the virtual machine panics", `function f(...) return f(1, ...) end f()`, "the check "},
		{"a pattern that tries again and again", `while true do string.match(obj.long, "(x*)(x*)(x*)(x*)y") end`, errTooLong.Error()},
		{"a long pattern", `string.match("x", obj.long)`, "too long"},
		{"a malformed pattern", `string.match("x", "[")`, "malformed"},
		{"plain searches", `while true do string.find(obj.long, "y", 1, true) end`, errTooLong.Error()},
		{"an error is not caught", `pcall(function() while true do end end)`, "non-function"},
		{"no coroutine", `coroutine.wrap(function() end)()`, "non-table"},
		{"no code is loaded", `loadstring("return 1")()`, "non-function"},
		{"no file is read", `io.open("/etc/passwd")`, "non-table"},
		{"no environment", `os.getenv("HOME")`, "non-function"},
		{"nor the clock", `os.time()`, "table expected"},
		{"no behaviour of texts is changed", `setmetatable("", {})`, "non-function"},
		{"nothing is returned", ``, "returned a nil"},
		{"a status of another type", `return {status = {}}`, `unknown status ""`},
		{"a status that there is not", `return {status = "Fine"}`, `unknown status "Fine"`},
		{"a message of another type", `return {status = "Healthy", message = {}}`, ""},
		{"a message that is no text", `return {status = "Healthy", message = string.sub("é", 1, 1)}`, ""},
	}
	object := map[string]any{
		"n": int64(60_000_000), "long": strings.Repeat("x", 64<<10), "list": make([]any, 0, 1000),
	}
	for i := range 1000 {
		object["list"] = append(object["list"].([]any), int64(i*7919%1000))
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			compiled, err := compile(tt.reason, []byte(tt.program))
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			_, err = run(compiled, object, defaultLimits)
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%v, %d MB: %v", took.Round(time.Millisecond), allocated, err)
			const most = 512 // the worst of these takes 42, and 234 under the race detector, which keeps no memory to use again
			if allocated > most {
				t.Errorf("it took %d MB", allocated)
			}
		})
	}
}

// TestDeadline: a run with few steps that takes long ends at the time limit.
func TestDeadline(t *testing.T) {
	compiled, err := compile("loop", []byte(`while true do end`))
	if err != nil {
		t.Fatal(err)
	}
	l := defaultLimits
	l.steps, l.time = math.MaxInt, time.Millisecond
	if _, err := run(compiled, nil, l); !errors.Is(err, errTooLong) {
		t.Errorf("error %v, want %v", err, errTooLong)
	}
}

// TestStepsThatChecksNeed: the limits are far above what the shipped checks need.
func TestStepsThatChecksNeed(t *testing.T) {
	checks := Shipped()
	l := defaultLimits
	l.steps, l.values, l.bytes = l.steps/100, l.values/10, l.bytes/10
	for _, name := range shippedChecks(t) {
		compiled, err := compileFile(checks.files, path.Join(name, scriptName))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range casesOf(t, name) {
			if _, err := run(compiled, c.object(t, name), l); err != nil {
				t.Errorf("%s, %s: %v", name, c.InputPath, err)
			}
		}
	}
}

// TestConcurrentObjects: objects are judged by many goroutines, which compile a check once.
func TestConcurrentObjects(t *testing.T) {
	checks := Shipped()
	var running sync.WaitGroup
	for i := range 16 {
		running.Go(func() {
			for j := range 50 {
				status := []string{"True", "False"}[(i+j)%2]
				want := []string{Healthy, Degraded}[(i+j)%2]
				got, err := checks.Health("cert-manager.io", "Certificate", certificate(status))
				if err != nil || got.Status != want {
					t.Errorf("Ready=%s is %q, %v", status, got.Status, err)
				}
			}
		})
	}
	running.Wait()
}

func certificate(ready string) map[string]any {
	condition := map[string]any{"type": "Ready", "status": ready, "reason": "Ready", "message": "up to date"}
	return map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": map[string]any{"name": "web", "generation": int64(1)},
		"spec": map[string]any{"secretName": "web", "dnsNames": []any{"example.com"}}, "status": map[string]any{"conditions": []any{condition}},
	}
}

// BenchmarkHealth measures a check on a small object, on one of ten thousand values, and compiling it.
func BenchmarkHealth(b *testing.B) {
	large := certificate("True")
	for i := range 2500 {
		large[fmt.Sprint(i)] = map[string]any{"a": "x", "b": int64(1), "c": true}
	}
	for name, object := range map[string]map[string]any{"small": certificate("True"), "large": large} {
		b.Run(name, func(b *testing.B) {
			checks := Shipped()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := checks.Health("cert-manager.io", "Certificate", object); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := compileFile(Shipped().files, "cert-manager.io/Certificate/health.lua"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// FuzzChecks: whatever an object has in it, each of a few checks ends, without a panic, twice alike.
func FuzzChecks(f *testing.F) {
	names := []string{
		"argoproj.io/Rollout", "apps.kruise.io/AdvancedCronJob", "opentelemetry.io/OpenTelemetryCollector",
		"core.spinkube.dev/SpinApp", "ceph.rook.io/CephCluster", "k8s.keycloak.org/Keycloak",
	}
	for i, name := range names {
		for _, c := range casesOf(f, name) {
			text, err := json.Marshal(c.object(f, name))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(i, text)
		}
	}
	checks := Shipped()
	f.Fuzz(func(t *testing.T, i int, text []byte) {
		var object map[string]any
		if json.Unmarshal(text, &object) != nil || i < 0 || i >= len(names) {
			t.Skip()
		}
		group, kind, _ := strings.Cut(names[i], "/")
		first, err := checks.Health(group, kind, object)
		if err != nil && strings.Contains(err.Error(), "runtime error") {
			t.Error(err)
		}
		if second, _ := checks.Health(group, kind, object); first != second {
			t.Errorf("two runs differ: %v, %v", first, second)
		}
	})
}
