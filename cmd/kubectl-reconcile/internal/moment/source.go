package moment

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/complete"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

const (
	// mostScanned bounds the records of a recording that are all read for a completion: about a third of a second.
	mostScanned = 50_000
	// mostDecoded bounds the objects that are decoded for one.
	mostDecoded = 2_000
)

// Source completes words from recordings. It may not be used concurrently.
type Source struct {
	files []string
	at    string
	whole bool
	state *replay.State // nil before the first use
}

var _ complete.Recording = (*Source)(nil)

// SourceAt is a connect.RecordingSource: it completes from what files have at a moment.
func SourceAt(files []string, at string) complete.Recording { return newSource(files, at, false) }

// SourceOf completes from what files have at any moment, also from objects that were deleted. Of a long recording, that
// are those of its start and its end.
func SourceOf(files []string) *Source { return newSource(files, "", true) }

func newSource(files []string, at string, whole bool) *Source {
	s := &Source{at: at, whole: whole}
	for _, file := range files { // a flag that is parsed twice has each twice
		s.files = cli.AppendUnique(s.files, file)
	}
	return s
}

// open opens the files. A file that is not a regular one is an error: what is read from a pipe is lost for the command.
func (s *Source) open(ctx context.Context) (*Input, *replay.Info, error) {
	for _, file := range s.files {
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			return nil, nil, errors.Join(err, errors.New("not a regular file"))
		}
	}
	opened, err := OpenFiles(ctx, noStreams(), s.files)
	if err != nil {
		return nil, nil, err
	}
	info, err := opened.Info()
	if err != nil {
		return nil, nil, closeAfter(opened, err)
	}
	return opened, &info, nil
}

// noStreams has nothing to read, and shows nothing.
func noStreams() genericiooptions.IOStreams {
	return genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}
}

// read returns what the recording has; an empty state if it cannot be read.
func (s *Source) read(ctx context.Context) *replay.State {
	if s.state != nil {
		return s.state
	}
	s.state = &replay.State{}
	opened, info, err := s.open(ctx)
	if err != nil {
		return s.state
	}
	var state *replay.State
	switch {
	case !s.whole:
		_, state, err = opened.At(s.at)
	case info.Records <= mostScanned:
		state, err = allObjects(ctx, opened)
	default:
		state, err = bothEnds(opened)
	}
	if closeAfter(opened, err) == nil {
		s.state = state
	}
	return s.state
}

// allObjects returns a state that has the last version of every object, also of those that were deleted.
func allObjects(ctx context.Context, r replay.Recording) (*replay.State, error) {
	out := &replay.State{}
	err := each(ctx, r, func(r *replay.Record) {
		if r.Type == replay.TypeDeleted {
			kept := *r
			kept.Type = replay.TypeModified
			r = &kept
		}
		out.Apply(r)
	})
	return out, err
}

// each calls do for each record, which stays valid. That a recording was cut off is no error.
func each(ctx context.Context, r replay.Recording, do func(*replay.Record)) error {
	if err := r.Rewind(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		record, err := r.Next()
		switch {
		case errors.Is(err, io.EOF), errors.As(err, new(*replay.TornError)):
			return nil
		case err != nil:
			return err
		}
		do(record)
	}
	return ctx.Err()
}

// bothEnds returns a state that has the objects of the start and those of the end.
func bothEnds(r replay.Recording) (*replay.State, error) {
	start, err := r.Seek(replay.Moment{Start: true})
	if err != nil {
		return nil, err
	}
	end, err := r.Seek(replay.Moment{})
	if err != nil {
		return nil, err
	}
	for key, record := range start.Objects() {
		if end.Object(key) == nil {
			end.Apply(record)
		}
	}
	return end, nil
}

// Namespace implements complete.Source: commands that read a moment have a default, others show all.
func (s *Source) Namespace(ctx context.Context) string {
	if s.whole {
		return ""
	}
	return namespaceOf(s.read(ctx))
}

// Kinds implements complete.Source: those that were recorded.
func (s *Source) Kinds(ctx context.Context) []cluster.Kind {
	state := s.read(ctx)
	return slices.DeleteFunc(Kinds(state).All(), func(k cluster.Kind) bool { return !Recorded(k, state) })
}

// Resolve implements complete.Source.
func (s *Source) Resolve(ctx context.Context, word string) []cluster.Kind {
	state := s.read(ctx)
	kinds, err := Kinds(state).ResolveAll(word)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(kinds, func(k cluster.Kind) bool { return !Recorded(k, state) })
}

// objects returns the objects of a target.
func (s *Source) objects(ctx context.Context, target cluster.Target) []Object {
	return slices.DeleteFunc(Objects(s.read(ctx)), func(o Object) bool {
		return canonical(o.Kind.GroupResource()) != canonical(target.Kind.GroupResource()) ||
			target.Namespace != "" && o.Record.Namespace != target.Namespace
	})
}

// Names implements complete.Source.
func (s *Source) Names(ctx context.Context, target cluster.Target) []string {
	var out []string
	for _, o := range s.objects(ctx, target) {
		out = append(out, o.Record.Name)
	}
	return out
}

// Namespaces implements complete.Source: those that have objects.
func (s *Source) Namespaces(ctx context.Context) []string {
	var out []string
	for key := range s.read(ctx).Objects() {
		if key.Namespace != "" {
			out = append(out, key.Namespace)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Object implements complete.Source.
func (s *Source) Object(ctx context.Context, target cluster.Target, name string) *unstructured.Unstructured {
	for _, o := range s.objects(ctx, target) {
		if o.Record.Name != name {
			continue
		}
		if obj, err := o.Decode(); err == nil {
			return obj
		}
	}
	return nil
}

// ObjectsOf returns the objects for which a function returns true, decoded, at most so many as are decoded for a
// completion.
func (s *Source) ObjectsOf(ctx context.Context, selects func(*Object) bool) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range Objects(s.read(ctx)) {
		if len(out) == mostDecoded || ctx.Err() != nil {
			break
		}
		if !selects(&o) {
			continue
		}
		if obj, err := o.Decode(); err == nil {
			out = append(out, obj)
		}
	}
	return out
}

// Writers returns the field managers that wrote the objects, and the components that reported Events.
func (s *Source) Writers(ctx context.Context) []string {
	var out []string
	for i, o := range Objects(s.read(ctx)) {
		if i == mostDecoded || ctx.Err() != nil {
			break
		}
		var fields struct {
			Metadata            metav1.ObjectMeta `json:"metadata"`
			ReportingController string            `json:"reportingController"`
			ReportingComponent  string            `json:"reportingComponent"`
			Source              struct {
				Component string `json:"component"`
			} `json:"source"`
		}
		if json.Unmarshal(o.Record.Object, &fields) != nil {
			continue // an object of an odd form has no writers
		}
		for _, entry := range fields.Metadata.ManagedFields {
			out = append(out, entry.Manager)
		}
		if o.Kind.Kind == "Event" {
			out = append(out, fields.ReportingController, fields.ReportingComponent, fields.Source.Component)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(name string) bool { return name == "" })
}
