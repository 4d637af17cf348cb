package apidiff

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Load reads those files *.yaml of fsys whose names without .yaml match wanted, sorted by name; nil reads all. It is
// strict: an unknown or repeated field, a placeholder that no earlier step saves, a step that cannot mean what it says,
// each is an error, and all of them are returned.
func Load(fsys fs.FS, wanted *regexp.Regexp) ([]File, error) {
	names, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the corpus: %w", err)
	}
	slices.Sort(names)
	var files []File
	var problems []error
	for _, name := range names {
		short := strings.TrimSuffix(path.Base(name), ".yaml")
		if wanted != nil && !wanted.MatchString(short) {
			continue
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", name, err)
		}
		file, err := parseFile(short, data)
		if err != nil {
			problems = append(problems, fmt.Errorf("reading %q: %w", name, err))
			continue
		}
		files = append(files, *file)
	}
	if len(files)+len(problems) == 0 {
		problems = append(problems, errors.New("there are no such files in the corpus"))
	}
	return files, errors.Join(problems...)
}

// entry is what a file lists: a step, or a name for the steps of Every.
type entry struct {
	Step
	Every *Every `json:"every,omitempty"`
}

// expand are the steps of the entry.
func (e *entry) expand() ([]Step, error) {
	if e.Every == nil {
		return []Step{e.Step}, nil
	}
	if e.Method+e.Path != "" || e.Body != nil {
		return nil, errors.New("every goes with a name alone")
	}
	return e.Every.steps(e.Name)
}

// parseFile reads one file of the corpus.
func parseFile(name string, data []byte) (*File, error) {
	var read struct {
		About string  `json:"about"`
		Steps []entry `json:"steps"`
	}
	if err := yaml.UnmarshalStrict(data, &read); err != nil {
		return nil, err
	}
	f := &File{Name: name, About: read.About, text: string(data)}
	var problems []error
	for i, e := range read.Steps {
		steps, err := e.expand()
		if err != nil {
			problems = append(problems, fmt.Errorf("entry %d (%q): %w", i, e.Name, err))
		}
		f.Steps = append(f.Steps, steps...)
	}
	if f.About == "" {
		problems = append(problems, errors.New("about is missing"))
	}
	if len(f.Steps) == 0 {
		problems = append(problems, errors.New("there are no steps"))
	}
	known := map[string]bool{"ns": true}
	seen := map[string]bool{}
	for i := range f.Steps {
		step := &f.Steps[i]
		step.Method = cmp.Or(step.Method, "GET")
		for _, err := range append(step.problems(known), step.saves(known)...) {
			problems = append(problems, fmt.Errorf("step %d (%q): %w", i, step.Name, err))
		}
		if seen[step.Name] {
			problems = append(problems, fmt.Errorf("step %d: the name %q is taken", i, step.Name))
		}
		seen[step.Name] = true
	}
	return f, errors.Join(problems...)
}

// stepName is what a step may be called: it is part of reports and of globs in meant.yaml.
var stepName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 .,-]*$`)

// problems are what is wrong with a step; known are the placeholders that have values before it.
func (s *Step) problems(known map[string]bool) []error {
	var found []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			found = append(found, fmt.Errorf(format, args...))
		}
	}
	watch := s.Method == methodWatch
	bad(!stepName.MatchString(s.Name), "the name must match %s", stepName)
	bad(!slices.Contains([]string{"GET", "HEAD", "OPTIONS", methodWatch}, s.Method) && !s.writes(),
		"unknown method %q", s.Method)
	bad(!strings.HasPrefix(s.Path, "/"), "the path must start with a slash")
	bad(s.Method == http.MethodPatch && s.Type == "", "a PATCH needs a type")
	bad(s.Body != nil && s.Raw != "", "body and raw exclude each other")
	bad((s.Method == http.MethodGet || watch) && (s.Body != nil || s.Raw != ""), "a %s has no body", s.Method)
	bad(watch != (s.Events > 0 || s.Ended), "events or ended belong to a WATCH, and a WATCH needs one of them")
	bad(s.Events > 0 && s.Ended, "events and ended exclude each other")
	bad(s.Until != nil && s.Method != http.MethodGet && !strings.Contains(s.Path, "dryRun=All"),
		"until is for a GET or a dry run")
	bad(s.Until != nil && s.Until.Warned == (s.Until.Value != nil), "until needs a value, or warned")
	bad(s.Setup && s.Code != 0, "a setup step must succeed, so it has no code")
	found = append(found, s.meanwhileProblems(known)...)
	texts := []string{s.Path, string(s.Body), s.Raw, s.Accept}
	for _, header := range s.Headers {
		texts = append(texts, header)
	}
	for _, text := range texts {
		for _, name := range placeholders(text) {
			bad(!known[name], "unknown placeholder {{%s}}", name)
		}
	}
	return found
}

// writes reports whether the method of the step is one of those that change objects.
func (s *Step) writes() bool {
	return slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, s.Method)
}

// meanwhileProblems are what is wrong with the request that is sent while a stream is open.
func (s *Step) meanwhileProblems(known map[string]bool) []error {
	if s.Meanwhile == nil {
		return nil
	}
	inner := *s.Meanwhile
	if s.Method != methodWatch || inner.Name != "" || !inner.writes() {
		return []error{errors.New("meanwhile is a write without a name, and belongs to a WATCH")}
	}
	inner.Name = "meanwhile"
	return inner.problems(known)
}

// saves adds what the step saves to known and reports paths that cannot be read.
func (s *Step) saves(known map[string]bool) []error {
	var found []error
	paths := slices.Clone(s.Keep)
	if s.Until != nil && !s.Until.Warned {
		paths = append(paths, s.Until.Path)
	}
	for name, p := range s.Save {
		if !placeholderName.MatchString(name) {
			found = append(found, fmt.Errorf("save: %q cannot be the name of a placeholder", name))
		}
		if known[name] {
			found = append(found, fmt.Errorf("save: %q has a value already", name))
		}
		known[name] = true
		paths = append(paths, p)
	}
	for _, p := range paths {
		if _, err := parsePath(p); err != nil {
			found = append(found, err)
		}
	}
	return found
}
