package diff

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	commonsession "github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// makePlan has the plan made. Errors have hints.
func (o *Options) makePlan(ctx context.Context) (*madePlan, error) {
	made := &madePlan{}
	var err error
	if o.readFrom != nil {
		if made.from, err = o.readFrom(ctx); err != nil {
			return nil, err
		}
	}
	if o.readChange != nil {
		if o.change.Manifests, err = o.readChange(ctx); err != nil {
			return nil, err
		}
	}
	ctx, cancel := o.limited(ctx)
	defer cancel()
	var source plan.Source = made.from
	var opened *connect.Cluster
	if o.cluster != nil {
		if opened, err = o.cluster.OpenQuietly(ctx); err != nil {
			return nil, interrupted(ctx, err)
		}
		source = &clusterSource{plan.Cluster{
			Config: o.cluster.Config, Kinds: opened.Kinds, Reader: opened.Reader, AllNamespaces: o.all,
		}, o, opened}
	} else if !o.at.IsZero() {
		source = made.from.At(o.at)
	}
	options, end := o.plan, func() {}
	if !o.named.Empty() {
		options.Only = o.only
	}
	options.Progress = func(stage plan.Stage) {
		end()
		switch stage {
		case plan.StageRead:
			end = opened.ShowProgress(ctx, o.progress)
		case plan.StagePlan:
			end = o.progress.Show(ctx, cli.ProgressText("making the plan"))
		case plan.StageAdmission:
			end = o.progress.Show(ctx, cli.ProgressText("trying in dry run what controllers create"))
		}
	}
	made.Plan, err = plan.Make(ctx, source, o.change, options)
	end()
	if err != nil {
		return nil, o.advise(ctx, err)
	}
	made.leftOut = made.leftOutLines()
	return made, nil
}

// limited returns a context that ends with --timeout.
func (o *Options) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, o.timeout, &timeoutError{o.timeout})
}

// timeoutError is that --timeout is over.
type timeoutError struct{ after time.Duration }

// Error implements error.
func (e *timeoutError) Error() string { return fmt.Sprintf("the plan is not ready after %s", e.after) }

// interrupted returns the error of what ended because ctx did.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if late := (*timeoutError)(nil); errors.As(context.Cause(ctx), &late) {
		return cli.WithHint(late, "--timeout gives it more time")
	}
	return cli.Interruption(ctx, "while the plan was made")
}

// advise adds advice to an error of plan.Make.
func (o *Options) advise(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		end := interrupted(ctx, err)
		if stop, ok := errors.AsType[*plan.StopError](err); ok {
			end = errors.Join(end, stop)
		}
		return end
	}
	if _, ok := errors.AsType[*plan.UnsettledError](err); ok {
		return cli.WithHint(err, "without -f, `diff --from FILE --until settled` shows what is done without an end")
	}
	if _, ok := errors.AsType[*plan.ForeignKindError](err); ok {
		return cli.WithHint(err, "it can run against a copy of the cluster: see `sandbox --from-cluster`")
	}
	if unserved, ok := errors.AsType[*plan.UnservedKindError](err); ok {
		return fmt.Errorf("--prune-allowlist: %w", unserved)
	}
	if tooMany, ok := errors.AsType[*seed.TooManyObjectsError](err); ok && o.cluster == nil {
		return cli.WithHint(fmt.Errorf("reading the state of --from: %w", tooMany), "--max-objects permits more")
	}
	return err
}

// only resolves the arguments for a plan, in the cluster or in the session that takes its place.
func (o *Options) only(ctx context.Context, c *plan.Cluster, namespace string) ([]seed.Root, error) {
	if o.all {
		namespace = ""
	}
	targets, err := o.named.Resolve(c.Kinds, namespace)
	if err != nil {
		return nil, o.explain(err)
	}
	var out []seed.Root
	for _, t := range targets {
		if err := plan.CheckKind(t.Kind); err != nil {
			return nil, err
		}
		if o.cluster == nil && t.Name != "" {
			if _, err := c.Reader.Metadata(ctx, t.Kind, t.Namespace, t.Name); apierrors.IsNotFound(err) {
				return nil, (&connect.Cluster{Kinds: c.Kinds, Reader: c.Reader}).NotFound(ctx, t)
			}
		}
		out = append(out, seed.Root{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name})
	}
	return out, nil
}

// explain adds to the error of a kind what is known of the cluster, or of what takes its place.
func (o *Options) explain(err error) error {
	if o.cluster != nil {
		return o.cluster.Explain(err)
	}
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
		return cli.WithHint(fmt.Errorf("no kind %q is known", unknown.Name), cli.Suggestion(unknown.Name, unknown.Known,
			"an object is named by TYPE/NAME, for example deploy/web; "+
				"custom resources need their definition in the files"))
	}
	return err
}

// clusterSource reads a part of the cluster for a plan.
type clusterSource struct {
	plan.Cluster
	options *Options
	opened  *connect.Cluster
}

// Read implements plan.Source. Errors have hints, and name the cluster. It warns of a cluster of another version.
func (s *clusterSource) Read(ctx context.Context, change plan.Change, o plan.Options) (*plan.State, error) {
	connection := s.options.cluster
	state, err := s.Cluster.Read(ctx, change, o)
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		errs := cli.FlattenErrors(err)
		for i := range errs {
			errs[i] = s.explain(ctx, errs[i])
		}
		return nil, errors.Join(errs...)
	}
	version, err := connection.ServerVersion(ctx)
	if err != nil {
		return nil, connection.Explain(err)
	}
	if text := connect.OtherMinorText(version, api.KubernetesVersion()); text != "" {
		fmt.Fprintf(s.options.streams.ErrOut, "warning: %s\n", text)
	}
	return state, nil
}

// explain adds advice to one error of plan.Cluster.Read.
func (s *clusterSource) explain(ctx context.Context, err error) error {
	connection := s.options.cluster
	if manifest, ok := errors.AsType[*plan.ManifestError](err); ok {
		if errors.Is(err, plan.ErrNotCopied) {
			return cli.WithHint(err, connection.PermissionHint())
		}
		return fmt.Errorf("%s: %w", manifest.Manifest, connection.Explain(manifest.Err))
	}
	if unread, ok := errors.AsType[*plan.ReadError](err); ok {
		object := connect.NewTarget(unread.Object.Kind, unread.Object.Namespace, unread.Object.Name)
		return connection.ReadError(ctx, s.opened, object, false, unread.Err)
	}
	return commonsession.ExplainCopy(ctx, connection, s.opened, err)
}
