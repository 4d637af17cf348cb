package why

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1/schematest"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// A situation of the corpus is a file of YAML documents: how it is played, and then the objects, which are created in
// this order in a separate namespace. Where an object has a status, that is written too. In every text, NAMESPACE is
// the name of the namespace, uid-of:NAME and
// uid-of:Kind/NAME the uid of the object of that name created before, and ago:5m a time, microago:5m with microseconds.
type situation struct {
	// Ask is the object, TYPE/NAME.
	Ask string `json:"ask"`
	// Kinds are custom kinds of the objects, whose specs and statuses have any fields. Several situations may have the same.
	Kinds []customKind `json:"kinds,omitempty"`
	// Controllers plays it with the controllers of Kubernetes and simulated nodes, until the cause is named, or for a
	// healthy one until it has converged. Without it nothing acts on the objects.
	Controllers bool `json:"controllers,omitempty"`
	// Cause is the type of the cause that must be named first; empty if the object is healthy and none must be.
	Cause string `json:"cause,omitempty"`
	// Of is the object that shows it, Kind/NAME; a name that ends in * is a prefix. The default is any.
	Of string `json:"of,omitempty"`
	// Says is a part of the sentence that must be written of it: what is particular to the situation.
	Says string `json:"says,omitempty"`
	// Change is a part of the first command that must be given to change something; none if there must be no such command.
	Change string `json:"change,omitempty"`
	// For is a part of what must be said of that command.
	For string `json:"for,omitempty"`
	// Also are types of causes that must be named, too.
	Also []string `json:"also,omitempty"`
	// Unseen is why tree and status say that all is well; empty if they see it.
	Unseen string `json:"unseen,omitempty"`
	// Later is how long after it was played the question is asked.
	Later metav1.Duration `json:"later,omitzero"`
	// EmbeddedOnly is why it cannot be played on a real control plane; empty if it can.
	EmbeddedOnly string `json:"embeddedOnly,omitempty"`
	// Then is what is done to the objects.
	Then []action `json:"then,omitempty"`
	// Repair is what is done when the cause has been named, so that the object converges.
	Repair []action `json:"repair,omitempty"`
}

// The situations are played on embedded control planes, unless these flags name others: test/realcluster/whycorpus
// starts real ones.
var (
	only  = flag.String("situation", "", "play only the situations whose names contain one of these, separated by commas")
	alone = flag.String("alone", "",
		"play the situations without controllers on the control plane of this kubeconfig, which has an API server only")
	acting = flag.String("acting", "",
		"play the situations with controllers on the control plane of this kubeconfig, which has them and nodes")
)

const (
	// patience bounds what a test waits for on a busy machine; nothing is timed by it.
	patience = 3 * time.Minute
	// settled is the time after which an API server has done on its own what it does.
	settled = 30 * time.Second
)

// TestCorpus plays every situation, and asks why. Of a broken one the cause must be named first, of a healthy one
// nothing. On a real control plane, where each request takes longer, several are played at a time.
func TestCorpus(t *testing.T) { playCorpus(t, false) }

// playCorpus plays every situation, beside what is of no concern to it or without that.
func playCorpus(t *testing.T, beside bool) {
	t.Helper()
	groups := map[bool][]*player{}
	broken, healthy := 0, 0
	for _, p := range readCorpus(t) {
		p.beside = beside
		groups[p.Controllers] = append(groups[p.Controllers], p)
		if p.Cause == "" {
			healthy++
		} else {
			broken++
		}
	}
	t.Logf("%d broken situations and %d healthy ones", broken, healthy)
	for _, withControllers := range []bool{false, true} {
		name := map[bool]string{false: "alone", true: "controllers"}[withControllers]
		t.Run(name, func(t *testing.T) {
			if len(groups[withControllers]) == 0 {
				t.Skip("none")
			}
			on := newStage(t, withControllers)
			if beside && !withControllers {
				on.addNode(t, "node-lost-beside", "Unknown")
			}
			for _, p := range groups[withControllers] {
				p.define(t, on)
			}
			t.Run("play", func(t *testing.T) {
				for _, p := range groups[withControllers] {
					t.Run(p.name, func(t *testing.T) {
						if on.real {
							t.Parallel()
						}
						p.play(t, on)
					})
				}
			})
			for _, p := range groups[withControllers] {
				t.Run("ask/"+p.name, func(t *testing.T) {
					t.Parallel()
					p.await(t)
				})
			}
		})
	}
}

// readCorpus reads the situations that are to be played, by their names.
func readCorpus(t *testing.T) []*player {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no situations: %v", err)
	}
	var out []*player
	for _, file := range files {
		p := readSituation(t, file)
		if slices.ContainsFunc(strings.Split(*only, ","), func(part string) bool { return strings.Contains(p.name, part) }) {
			out = append(out, p)
		}
	}
	return out
}

// player plays one situation.
type player struct {
	situation
	name      string
	documents []map[string]any

	// beside reports that it is played beside what is of no concern to it.
	beside    bool
	stage     *stage
	kinds     *cluster.Kinds
	namespace string
	uids      map[string]string
	played    bool
}

func readSituation(t *testing.T, file string) *player {
	t.Helper()
	p := &player{name: strings.TrimSuffix(filepath.Base(file), ".yaml"), uids: map[string]string{}}
	p.documents = readDocuments(t, file, &p.situation)
	if p.Cause != "" && p.Says == "" {
		t.Fatalf("%s: it has a cause, and does not say what must be written of it", file)
	}
	return p
}

// readDocuments reads the objects of a file. The first document is read into head, unless that is nil.
func readDocuments(t *testing.T, file string, head any) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if head != nil {
			if err := yaml.UnmarshalStrict(document, head); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			head = nil
			continue
		}
		var object map[string]any
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if object != nil {
			out = append(out, object)
		}
	}
}

// define creates the definitions of the custom kinds, and those among the objects: until one is served takes as long as until all are.
func (p *player) define(t *testing.T, on *stage) {
	t.Helper()
	p.stage, p.namespace = on, "why-"+strings.ToLower(p.name)
	if p.leftOut() {
		return
	}
	var err error
	if p.kinds, err = cluster.Discover(t.Context(), on.config); err != nil {
		t.Fatal(err)
	}
	for _, kind := range p.Kinds {
		kind.define(t, on)
	}
	p.documents = slices.DeleteFunc(p.documents, func(document map[string]any) bool {
		if document["kind"] != "CustomResourceDefinition" {
			return false
		}
		p.create(t.Context(), t, document)
		return true
	})
}

// leftOut reports whether the situation cannot be played on its stage.
func (p *player) leftOut() bool { return p.stage.real && p.EmbeddedOnly != "" }

func (p *player) play(t *testing.T, on *stage) {
	if p.leftOut() {
		t.Skip(p.EmbeddedOnly)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var err error
	if p.kinds, err = cluster.Discover(ctx, on.config); err != nil {
		t.Fatal(err)
	}
	p.create(ctx, t, map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": p.namespace},
	})
	if on.real && !on.controllers {
		p.create(ctx, t, map[string]any{
			"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "default"},
		})
	}
	p.exists(ctx, t, "serviceaccount/default")
	if p.beside {
		p.addOthers(ctx, t)
	}
	for _, document := range p.documents {
		p.create(ctx, t, document)
	}
	if p.beside {
		p.addPast(ctx, t)
	}
	for _, a := range p.Then {
		p.do(ctx, t, a)
	}
	p.played = true
}

// await asks until the answer is right; once if nothing acts on the objects, which a real API server does on some.
func (p *player) await(t *testing.T) {
	if !p.played {
		t.Skip("it was not played")
	}
	limit := map[bool]time.Duration{true: patience, false: settled}[p.stage.controllers]
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	last, shown := "nothing was answered", ""
	for {
		problem, text := p.check(ctx, t)
		if problem == "" {
			if v, err := p.ask(ctx); err == nil && p.Later.Duration == 0 {
				problem = p.oneStory(ctx, t, v)
			}
		}
		if problem == "" {
			t.Log("\n" + text)
			if len(p.Repair) > 0 && !p.beside && *kubectl == "" {
				p.repaired(ctx, t)
				return
			}
			if *kubectl != "" && p.Cause != "" && p.Later.Duration == 0 {
				if problem := p.follow(t.Context(), t); problem != "" {
					t.Error(problem)
				}
			}
			return
		}
		if ctx.Err() == nil {
			last, shown = problem, text
		}
		if !p.stage.controllers && !p.stage.real || ctx.Err() != nil {
			t.Fatalf("%s\n%s", last, shown)
		}
		wait(ctx)
	}
}

// wait waits a little before something is tried again.
func wait(ctx context.Context) {
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
	}
}

// check asks why and returns what is wrong with the answer, with the answer.
func (p *player) check(ctx context.Context, t *testing.T) (problem, text string) {
	t.Helper()
	v, err := p.ask(ctx)
	if err != nil {
		return err.Error(), ""
	}
	var out bytes.Buffer
	o := &Options{streams: genericiooptions.IOStreams{Out: &out}, clock: clocktesting.NewFakeClock(v.now)}
	if err := o.draw(&out, v, 0); err != nil {
		return err.Error(), ""
	}
	text = out.String()
	if problem := againstSchema(v.document()); problem != "" {
		return problem, text
	}
	d := v.diagnosis
	if p.Cause == "" {
		switch {
		case len(d.Causes) > 0:
			return fmt.Sprintf("a healthy object has the cause %s", d.Causes[0].Type), text
		case !d.Converged:
			return "a healthy object has not converged", text
		}
		return "", text
	}
	if len(d.Causes) == 0 {
		return "no cause is named, want " + p.Cause, text
	}
	first := d.Causes[0]
	shown := first.Node().Kind.Kind + "/" + first.Node().Name
	prefix, isPrefix := strings.CutSuffix(p.Of, "*")
	switch {
	case string(first.Type) != p.Cause:
		return fmt.Sprintf("the cause %s is named first, want %s", first.Type, p.Cause), text
	case p.Of != "" && shown != p.Of && (!isPrefix || !strings.HasPrefix(shown, prefix)):
		return fmt.Sprintf("%s shows it, want %s", shown, p.Of), text
	case !strings.Contains(v.sentence(first), p.expand(p.Says)):
		return fmt.Sprintf("it says %q, without %q", v.sentence(first), p.expand(p.Says)), text
	case d.Converged:
		return "it has converged", text
	case len(first.Evidence) == 0:
		return "there is no evidence", text
	case len(v.commands.of(first)) == 0:
		return "there is no command", text
	}
	for _, c := range d.Causes {
		if problem := badAdvice(c, v.commands.of(c)); problem != "" {
			return problem, text
		}
	}
	if problem := p.firstChange(v.commands.of(first)); problem != "" {
		return problem, text
	}
	for _, also := range p.Also {
		if !slices.ContainsFunc(v.document().Causes, func(c v1alpha1.DiagnosedCause) bool { return string(c.Type) == also }) {
			return "the cause " + also + " is not named", text
		}
	}
	if problem := sameStory(v); problem != "" {
		return problem, text
	}
	if v.trials != nil && first.Weight == inspect.Specific && !fromTrial(first) {
		return "controllers were tried, though the cause was known", text
	}
	return "", text
}

// firstChange compares the first command that changes something with what it must be.
func (p *player) firstChange(commands []v1alpha1.Command) string {
	all := adviceOf(commands)
	switch {
	case p.Change == "":
	case p.Change == "none" && len(all) > 0:
		return fmt.Sprintf("%q is to be done, want nothing", all[0].Command.Command)
	case p.Change == "none":
	case len(all) == 0:
		return "nothing is to be done, want " + p.Change
	case !strings.Contains(all[0].Command.Command, p.expand(p.Change)):
		return fmt.Sprintf("%q is to be done first, want %q", all[0].Command.Command, p.expand(p.Change))
	case !strings.Contains(all[0].For, p.For):
		return fmt.Sprintf("it is for %q, want %q", all[0].For, p.For)
	}
	return ""
}

// againstSchema returns what is wrong with a document according to its schema.
func againstSchema(document any) string {
	text, err := json.Marshal(document)
	if err == nil {
		err = schematest.Check("../../../../docs/why.schema.json", bytes.NewReader(text))
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// fromTrial reports whether what controllers write was to be tried to find a cause, or to be surer of it.
func fromTrial(c *diagnosis.Cause) bool {
	return c.Type == inspect.GenerationNotSeen ||
		slices.ContainsFunc(c.Evidence, func(e inspect.Evidence) bool { return e.Source == inspect.FromController })
}

// sameStory reports a cause that status would not see: the object that shows the likeliest cause is well by its own
// status and says nothing, and no Event, reference or Service explains that.
func sameStory(v *view) string {
	first := v.diagnosis.Causes[0]
	last := first.Chain[len(first.Chain)-1]
	if last.Facts.Status.Status == treestatus.Missing {
		return ""
	}
	fromElsewhere := slices.ContainsFunc(first.Evidence, func(e inspect.Evidence) bool {
		return e.Source != "Condition" && !strings.HasPrefix(e.Name, "status.conditions")
	})
	if last.Facts.Current() && last.Facts.Reason == "" && !fromElsewhere {
		return "status says nothing of it"
	}
	return ""
}

// ask runs the command's reading of the object.
func (p *player) ask(ctx context.Context) (*view, error) {
	return p.askAbout(ctx, p.stage.config, p.Ask)
}

// askAbout runs the command's reading of another object of the situation, TYPE/NAME, by a
// config.
func (p *player) askAbout(ctx context.Context, config *rest.Config, about string) (*view, error) {
	reader, err := cluster.NewReader(config)
	if err != nil {
		return nil, err
	}
	kinds, err := cluster.Discover(ctx, config)
	if err != nil {
		return nil, err
	}
	p.kinds = kinds
	flags := connect.NewTargetFlags()
	named, err := flags.Parse([]string{p.expand(about)})
	if err != nil {
		return nil, err
	}
	targets, err := named.Resolve(kinds, p.namespace)
	if err != nil {
		return nil, err
	}
	now := time.Now().Add(p.Later.Duration)
	q := &query{
		options: &Options{
			connection: &connect.Connection{Config: config, Namespace: p.namespace, Program: "kubectl reconcile"},
			clock:      clocktesting.NewFakeClock(now), try: tryAuto,
			streams: genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard},
		},
		cluster: &connect.Cluster{Kinds: kinds, Reader: reader}, target: targets[0],
	}
	s, err := q.read(ctx)
	if err != nil {
		return nil, err
	}
	tried, err := (&trier{query: q}).complete(ctx, s, now)
	if err != nil {
		return nil, err
	}
	return newView(q, s, tried, now), nil
}
