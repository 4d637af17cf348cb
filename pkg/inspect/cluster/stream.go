package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// stream asks for one object or one page and hands the answer over as it arrives. If nothing more arrives for as long as the
// reader is patient, that is an error.
func (r *Reader) stream(ctx context.Context, segments []string, accept string, options *metav1.ListOptions, read func(io.Reader) error) error {
	release, err := r.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(r.patience, func() { cancel(errNoAnswer) })
	defer timer.Stop()
	request := r.client.Get().AbsPath(segments...).SetHeader("Accept", accept).MaxRetries(retries)
	if options != nil {
		request = request.SpecificallyVersionedParams(options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"})
	}
	body, err := request.Stream(ctx)
	if err == nil {
		err = read(&arrivals{body, timer, r.patience})
		if closed := body.Close(); err == nil {
			err = closed
		}
	}
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) {
		return fmt.Errorf("%w within %v", errNoAnswer, r.patience)
	}
	return err
}

// arrivals starts the timer anew whenever something arrives.
type arrivals struct {
	body     io.Reader
	timer    *time.Timer
	patience time.Duration
}

func (a *arrivals) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	if n > 0 {
		a.timer.Reset(a.patience)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("reading the answer: %w", err)
	}
	return n, err
}
