package apidiff

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
)

// Side is one of the servers that are compared. Its methods may be called from any goroutine.
type Side struct {
	// Name is how reports call it.
	Name string

	base      string
	client    *http.Client
	anonymous *http.Client
}

// NewSide makes a side of a server. Requests go out as config says, without a limit of their rate.
func NewSide(name string, config *rest.Config) (*Side, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the address of %q: %w", config.Host, err)
	}
	side := &Side{Name: name, base: strings.TrimSuffix(base.String(), "/")}
	if side.client, err = rest.HTTPClientFor(config); err != nil {
		return nil, fmt.Errorf("building a client of %q: %w", config.Host, err)
	}
	if side.anonymous, err = rest.HTTPClientFor(rest.AnonymousClientConfig(config)); err != nil {
		return nil, fmt.Errorf("building an anonymous client of %q: %w", config.Host, err)
	}
	return side, nil
}

// host is the server's host:port, which may occur in answers.
func (s *Side) host() string {
	address, err := url.Parse(s.base)
	if err != nil {
		return s.base
	}
	return address.Host
}

// send sends one request and reads its answer. An error means that there is no answer.
func (s *Side) send(ctx context.Context, step *Step, v values) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	request, err := s.request(ctx, step, v)
	if err != nil {
		return nil, err
	}
	client := s.client
	if authorization, ok := step.Headers["Authorization"]; ok && authorization == "" {
		client = s.anonymous
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("sending %s %q: %w", step.Method, step.Path, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read as far as wanted
	answer := headOf(response)
	if step.Method == methodWatch && response.StatusCode == http.StatusOK {
		if err := s.sendMeanwhile(ctx, step.Meanwhile, v); err != nil {
			return nil, err
		}
		readEvents(answer, response, step.Events, step.Ended)
		return answer, nil
	}
	answer["body"], err = readBody(response)
	return answer, err
}

// sendMeanwhile sends the request of an open stream, if it has one. That it is refused is an error.
func (s *Side) sendMeanwhile(ctx context.Context, step *Step, v values) error {
	if step == nil {
		return nil
	}
	answer, err := s.send(ctx, step, v)
	if err == nil && !step.expects(answer.Code()) {
		err = fmt.Errorf("answered %d: %v", answer.Code(), answer["body"])
	}
	if err != nil {
		return fmt.Errorf("sending %s %q meanwhile: %w", step.Method, step.Path, err)
	}
	return nil
}

// request builds the request of step.
func (s *Side) request(ctx context.Context, step *Step, v values) (*http.Request, error) {
	body := v.fill(step.Raw)
	if step.Body != nil {
		data, err := v.fillBody(step.Body)
		if err != nil {
			return nil, err
		}
		body = string(data)
	}
	method := step.Method
	if method == methodWatch {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(ctx, method, s.base+v.fill(step.Path), strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	request.Header.Set("Accept", orJSON(v.fill(step.Accept)))
	if body != "" || step.Type != "" {
		request.Header.Set("Content-Type", orJSON(step.Type))
	}
	for name, value := range step.Headers {
		if value != "" {
			request.Header.Set(name, v.fill(value))
		}
	}
	return request, nil
}

func orJSON(contentType string) string {
	if contentType == "" {
		return jsonType
	}
	return contentType
}

// holds reports whether the condition is true of an answer.
func (u *Until) holds(answer Answer) bool {
	if u.Warned {
		warnings, _ := answer["warnings"].([]any)
		return len(warnings) > 0
	}
	wanted, err := decode(u.Value)
	if err != nil {
		return false
	}
	a, errA := json.Marshal(wanted)
	b, errB := json.Marshal(lookup(answer["body"], u.Path))
	return errA == nil && errB == nil && string(a) == string(b)
}
