package moment

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
)

// server serves a moment.
type server struct {
	config *rest.Config
	absent []absence
	stop   func() error
}

// serve starts a server that has what was known at a moment.
func serve(ctx context.Context, recording replay.Recording, m replay.Moment) (*server, error) {
	started, err := playback.Start(ctx, recording, playback.Options{At: m})
	if err != nil {
		return nil, err
	}
	out := &server{config: started.Config(), stop: started.Stop}
	at := map[schema.GroupResource]int{}
	for _, n := range started.NotServed() {
		resource := schema.GroupResource{Group: n.Kind.Group, Resource: n.Resource}
		index, known := at[resource]
		if !known {
			index = len(out.absent)
			at[resource] = index
			out.absent = append(out.absent, absence{resource: resource, why: n.Err.Error()})
		}
		if n.Name != "" {
			out.absent[index].count++
		}
	}
	return out, nil
}
