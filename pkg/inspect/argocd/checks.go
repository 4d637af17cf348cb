// Package argocd runs the health checks that Argo CD ships for custom resources: short programs in Lua, of which
// github.com/argoproj/argo-cd/v3/resource_customizations holds one for each of more than two hundred kinds. They run as
// in Argo CD (util/lua/lua.go there), with a smaller part of Lua's library, and bounded in time and memory whatever the
// object is. [Shipped] returns them, and [Checks.Health] runs one. What a result means for the status of an object is
// up to the caller: package inspect calls it, and a program that wants a status begins there.
//
// How the files divide the work: checks.go finds and compiles the checks; rewrite.go replaces, before compilation,
// operators that gopher-lua does not bound; run.go converts an object and runs a check with a budget of steps, bytes
// and time; library.go and strings.go are the part of Lua's library that checks use, in versions that spend the
// budget.
package argocd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/argoproj/argo-cd/v3/resource_customizations"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// The values of Health.Status, which are those of Argo CD's HealthStatusCode.
const (
	Healthy     = "Healthy"
	Progressing = "Progressing"
	Degraded    = "Degraded"
	Suspended   = "Suspended"
	Missing     = "Missing"
	Unknown     = "Unknown"
)

// Health is what a check returns.
type Health struct {
	// Status is one of the values above.
	Status string
	// Message explains the status. It may be empty, and may have several lines.
	Message string
}

// ErrNoCheck is the error of Health for a kind that has no check.
var ErrNoCheck = errors.New("no health check for the kind")

// Checks are the health checks of a set of files. They may be used concurrently. A check is read and compiled for the
// first object of its kind.
type Checks struct {
	files fs.FS
	index func() index
}

// index holds the checks by "group/kind".
type index struct {
	exact   map[string]*check
	pattern []*check // whose names have a *, which matches any text
}

// check is one file, compiled on first use.
type check struct {
	name    string // group/kind
	compile func() (*lua.FunctionProto, error)
}

// scriptName is the file of a health check, in the folder of its kind.
const scriptName = "health.lua"

// Shipped returns the checks that Argo CD ships.
func Shipped() *Checks { return New(resource_customizations.Embedded) }

// New returns the checks among the files: group/kind/health.lua. The files must not change.
func New(files fs.FS) *Checks {
	c := &Checks{files: files}
	c.index = sync.OnceValue(c.list)
	return c
}

// list finds the checks without reading them. A folder named _ matches any kind, one named _.example.com any group
// with that suffix.
func (c *Checks) list() index {
	all := index{exact: map[string]*check{}}
	names, _ := fs.Glob(c.files, "*/*/"+scriptName) // the only error is of the pattern
	for _, name := range names {
		found := &check{name: strings.ReplaceAll(path.Dir(name), "_", "*")}
		found.compile = sync.OnceValues(func() (*lua.FunctionProto, error) { return compileFile(c.files, name) })
		if strings.Contains(found.name, "*") {
			all.pattern = append(all.pattern, found)
		} else {
			all.exact[found.name] = found
		}
	}
	return all
}

// lookup returns the check of a kind; nil if there is none.
func (i index) lookup(group, kind string) *check {
	key := group + "/" + kind
	if found := i.exact[key]; found != nil {
		return found
	}
	for _, p := range i.pattern {
		if ok, err := path.Match(p.name, key); ok && err == nil {
			return p
		}
	}
	return nil
}

// compileFile reads and compiles a check, after guardStatements has bounded its concatenations and keys.
func compileFile(files fs.FS, name string) (*lua.FunctionProto, error) {
	source, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("reading the health check %q: %w", name, err)
	}
	return compile(name, source)
}

// compile parses a check, bounds it with guardStatements, and compiles it. name is used in errors only.
func compile(name string, source []byte) (*lua.FunctionProto, error) {
	statements, err := parse.Parse(bytes.NewReader(source), name)
	if err != nil {
		return nil, fmt.Errorf("parsing the health check %q: %w", name, err)
	}
	guardStatements(statements)
	compiled, err := lua.Compile(statements, name)
	if err != nil {
		return nil, fmt.Errorf("compiling the health check %q: %w", name, err)
	}
	return compiled, nil
}

// Health runs the check of the kind on an object, as decoded from JSON, which it does not change. The error is
// ErrNoCheck if there is no check for the kind. Other errors mean that the check could not evaluate the object: a
// field is not as the check expects, the object is too large, or the check exceeded its limits.
func (c *Checks) Health(group, kind string, object map[string]any) (Health, error) {
	found := c.index().lookup(group, kind)
	if found == nil {
		return Health{}, ErrNoCheck
	}
	compiled, err := found.compile()
	if err != nil {
		return Health{}, err
	}
	health, err := run(compiled, object, defaultLimits)
	if err != nil {
		return Health{}, fmt.Errorf("running the health check %q: %w", found.name, err)
	}
	return health, nil
}
