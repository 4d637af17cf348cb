package playback

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// tape records an API into memory, record by record, as a test asks for it.
type tape struct {
	testing.TB
	replay.Memory
	began   time.Time // of the first record; each is a second after the one before
	client  *http.Client
	host    string
	watches map[int]*bufio.Scanner
	streams map[int]replay.Stream
}

func newTape(t testing.TB, config *rest.Config) *tape {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &tape{TB: t, began: time.Now().UTC().Truncate(time.Second), client: client, host: config.Host, watches: map[int]*bufio.Scanner{},
		streams: map[int]replay.Stream{}}
}

// add appends a record, with the time of its number.
func (p *tape) add(r *replay.Record) *replay.Record {
	r.Time = p.began.Add(time.Duration(len(p.Records)) * time.Second)
	p.Append(r)
	return r
}

// request returns the body of an answer in JSON.
func (p *tape) request(ctx context.Context, path string) io.ReadCloser {
	p.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.host+path, nil)
	if err != nil {
		p.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := p.client.Do(request)
	if err != nil {
		p.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(response.Body)
		p.Fatalf("%s: %s: %s", path, response.Status, body)
	}
	return response.Body
}

// list begins a stream: it records a list, and watches from there.
func (p *tape) list(s replay.Stream) int {
	p.Helper()
	s.Number = len(p.streams) + 1
	p.streams[s.Number] = s
	p.add(&replay.Record{Type: replay.TypeStream, Stream: s.Number, NewStream: &s})
	version := p.relist(s.Number, false)
	ctx, cancel := context.WithCancel(p.Context())
	body := p.request(ctx, streamPath(s)+"?watch=1&allowWatchBookmarks=true&resourceVersion="+version)
	p.Cleanup(func() { cancel(); _ = body.Close() })
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	p.watches[s.Number] = lines
	return s.Number
}

// relist records a list, and returns its version.
func (p *tape) relist(stream int, relisted bool) string {
	p.Helper()
	body := p.request(p.Context(), streamPath(p.streams[stream]))
	defer body.Close()
	var list struct {
		Metadata metav1.ListMeta   `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	if err := json.NewDecoder(body).Decode(&list); err != nil {
		p.Fatal(err)
	}
	p.add(&replay.Record{Type: replay.TypeListBegin, Stream: stream})
	for _, item := range list.Items {
		r := p.object(stream, item)
		r.Type = replay.TypeListItem
		if relisted {
			r.Type, r.Relisted = replay.TypeModified, true
		}
		p.add(r)
	}
	p.add(&replay.Record{Type: replay.TypeListEnd, Stream: stream, ResourceVersion: list.Metadata.ResourceVersion})
	return list.Metadata.ResourceVersion
}

// next records the next event of a stream's watch that is no bookmark.
func (p *tape) next(stream int) *replay.Record {
	p.Helper()
	lines := p.watches[stream]
	for lines.Scan() {
		var ev struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
			p.Fatal(err)
		}
		r := p.object(stream, ev.Object)
		switch ev.Type {
		case "ADDED":
			r.Type = replay.TypeAdded
		case "MODIFIED":
			r.Type = replay.TypeModified
		case "DELETED":
			r.Type = replay.TypeDeleted
		default:
			continue
		}
		return p.add(r)
	}
	p.Fatalf("the watch of stream %d has ended: %v", stream, lines.Err())
	return nil
}

func (p *tape) object(stream int, data []byte) *replay.Record {
	p.Helper()
	var named metav1.PartialObjectMetadata
	if err := json.Unmarshal(data, &named); err != nil {
		p.Fatal(err)
	}
	return &replay.Record{
		Stream: stream, Object: append([]byte(nil), data...), Namespace: named.Namespace, Name: named.Name,
		UID: string(named.UID), ResourceVersion: named.ResourceVersion,
	}
}

// streamPath returns the path of a stream's lists.
func streamPath(s replay.Stream) string {
	path := []string{"/apis", s.Group, s.Version}
	if s.Group == "" {
		path = []string{"/api", s.Version}
	}
	if s.Namespace != "" {
		path = append(path, "namespaces", s.Namespace)
	}
	return strings.Join(append(path, s.Resource), "/")
}

func stream(group, version, kind, resource string) replay.Stream {
	return replay.Stream{Group: group, Version: version, Kind: kind, Resource: resource, Namespaced: true}
}

// number is the moment after a record.
func number(r *replay.Record) replay.Moment { return replay.Moment{Number: r.Number} }
