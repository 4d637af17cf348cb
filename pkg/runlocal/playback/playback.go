package playback

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// defaultHistory is how many watch events of each kind are kept for watches that continue: enough for a client that
// reconnects, and little memory.
const defaultHistory = 500

// Options configure Start. The zero value serves the end of a recording in process, read-only.
type Options struct {
	// At is the moment to begin at.
	At replay.Moment
	// Listen is the host:port to serve TLS on; port 0 picks a free one. Empty means no socket at all. Others than
	// loopback addresses need AllowRemote.
	Listen      string
	AllowRemote bool
	// Writable lets clients write to what is served. The first write ends the playback: what was recorded after it
	// would contradict it. Leases and Events are what clients write about themselves: they can be written also if they
	// were not recorded, which does not end it, and recorded Leases are not served.
	Writable bool
	// ShiftTimes moves the times in objects, so that the moment of the recording is the time of the clock at Start. It
	// is for clients that act on times, such as controllers, which would find every deadline passed. Writable implies
	// it.
	ShiftTimes bool
	// Move changes the times in the JSON of an object, in the place of what ShiftTimes does. It may be nil. It is
	// called by one goroutine at a time.
	Move func(object []byte) []byte
	// Empty are kinds that clients need. Of those that were not recorded there are no objects.
	Empty []schema.GroupResource
	// ReadOnly is the message of writes that are refused, "" for a default.
	ReadOnly string
	// Users may use the API with their tokens, beside the administrator.
	Users []api.RecordedUser
	// Uncontrolled is why requests may not steer the playback, which is left to the methods of Server; "" if they may.
	Uncontrolled string
	// Handler, if it is not nil, is put around what serves the requests of clients: their context has the user and the
	// request info. A write that it does not pass on changes nothing, and does not end the playback.
	Handler func(next http.Handler) http.Handler
	// History is how many watch events of each kind are kept for watches that start in the past; 0 means 500.
	History int
	// Clock is the clock of the playback; nil means the real one.
	Clock clock.WithTicker
}

// Server serves a recording. Its methods may be called concurrently. The recording belongs to it until Stop has
// returned.
type Server struct {
	api     *api.Server
	options Options
	clock   clock.WithTicker
	info    replay.Info
	shift   time.Duration // added to the times in objects; 0 without Options.ShiftTimes

	cancel context.CancelFunc
	tasks  sync.WaitGroup
	wake   chan struct{} // holds a token when the goroutine of the time has something new to look at

	mu       sync.Mutex // guards what follows, shift and the recording
	kinds    *kinds
	player   player
	timeline timeline
	written  bool // a client has written since the state was loaded
}

// Start serves a recording at a moment, paused. The error is a *replay.OutsideError if the moment is not in the
// recording. The server runs until Stop is called, which must be called, also when ctx has ended.
func Start(ctx context.Context, recording replay.Recording, o Options) (*Server, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.History == 0 {
		o.History = defaultHistory
	}
	o.ShiftTimes = o.ShiftTimes || o.Writable
	info, err := recording.Info()
	if err != nil {
		return nil, fmt.Errorf("reading what is in the recording: %w", err)
	}
	state, err := recording.Seek(o.At)
	if err != nil {
		return nil, err
	}
	s := &Server{
		options: o, clock: o.Clock, info: info, kinds: newKinds(info.Streams, o), wake: make(chan struct{}, 1),
		timeline: timeline{speed: 1},
	}
	s.player = newPlayer(s, recording)
	s.arrive(o.At, state)
	loaded := s.kinds.load(state, s.moved)
	recorded := &api.Recorded{
		Resources: loaded.resources, Definitions: definitions(info.Streams), Writable: o.Writable,
		ReadOnly: o.ReadOnly, Users: o.Users, Handler: s.handler,
	}
	options := api.Options{
		Listen: o.Listen, AllowRemote: o.AllowRemote, Objects: loaded.objects, Recorded: recorded, History: o.History,
		Clock: o.Clock,
	}
	if s.api, err = api.Start(ctx, options); err != nil {
		return nil, err
	}
	s.kinds.settle(s.api, s.api.Unloaded())
	running, cancel := context.WithCancel(ctx)
	s.cancel = cancel
	s.tasks.Go(func() { s.run(running) })
	return s, nil
}

// Config returns a client configuration for the server: in process, as the administrator, without a rate limit. The
// caller owns the copy.
func (s *Server) Config() *rest.Config { return s.api.Config() }

// API returns the API server, for its address and its kubeconfig.
func (s *Server) API() *api.Server { return s.api }

// NotServed returns what the recording has and the server does not serve, at the moment of Start or of the last Seek:
// kinds first, then single objects, and then the first records since that could not be served.
func (s *Server) NotServed() []NotServed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kinds.notServed()
}

// Token returns the token of one of Options.Users, empty if there is no such user.
func (s *Server) Token(user string) string {
	for _, u := range s.options.Users {
		if u.Name == user {
			return u.Token
		}
	}
	return ""
}

// Kinds returns the number of recorded kinds that are served.
func (s *Server) Kinds() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, one := range s.kinds.all {
		if one.served && len(one.streams) > 0 {
			n++
		}
	}
	return n
}

// Namespace returns the namespace that was recorded, if it is a single one; empty if there are several, or all.
func (s *Server) Namespace() string {
	out := ""
	for i := range s.info.Streams {
		stream := &s.info.Streams[i]
		if !stream.Namespaced {
			continue
		}
		if stream.Namespace == "" || out != "" && out != stream.Namespace {
			return ""
		}
		out = stream.Namespace
	}
	return out
}

// Stop ends the playback and the server, and returns when their goroutines have ended. Only the first call has an
// effect.
func (s *Server) Stop() error {
	s.cancel()
	s.tasks.Wait()
	return s.api.Stop()
}
