package moment

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// server serves a moment.
type server struct {
	config *rest.Config
	absent []absence
	stop   func() error
}

// serve starts a server that has what was known at a moment.
func serve(ctx context.Context, _ *Input, state *replay.State, _ replay.Moment) (*server, error) {
	options := api.Options{}
	for key, r := range state.Objects() {
		stream := state.Stream(key.Stream)
		options.Objects = append(options.Objects, api.StoredObject{
			Kind: stream.GVK(), Resource: stream.Resource, JSON: r.Object,
		})
	}
	for _, s := range state.Streams() {
		if version, err := strconv.ParseUint(s.ResourceVersion, 10, 64); err == nil {
			options.ResourceVersion = max(options.ResourceVersion, version)
		}
	}
	started, err := api.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	out := &server{config: started.Config(), stop: started.Stop}
	counts := map[schema.GroupResource]*absence{}
	for _, u := range started.Unloaded() {
		resource := schema.GroupResource{Group: u.Kind.Group, Resource: u.Resource}
		if counts[resource] == nil {
			counts[resource] = &absence{resource: resource, why: u.Err.Error()}
		}
		counts[resource].count++
	}
	for _, s := range state.Streams() {
		if a := counts[s.GroupResource()]; a != nil {
			out.absent = append(out.absent, *a)
			delete(counts, s.GroupResource())
		}
	}
	return out, nil
}

// moment parses the value of --at.
func (i *Input) Moment(at string) (replay.Moment, error) {
	if at == "" {
		return replay.Moment{}, nil
	}
	return replay.Moment{}, fmt.Errorf("--at %s: not yet", at)
}
