package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// sample is what the plugin's process takes at one moment.
type sample struct {
	at         time.Duration // since the begin
	goroutines float64
	heap       float64 // bytes in use right after a collection
	resident   float64 // bytes
	files      float64 // open ones
	reconciles float64 // that ended so far
}

func (s sample) String() string {
	return fmt.Sprintf("%6s  goroutines %.0f, heap %.1f MiB, resident %.1f MiB, files %.0f, reconciles %.0f",
		s.at.Round(time.Second), s.goroutines, s.heap/mebi, s.resident/mebi, s.files, s.reconciles)
}

const mebi = 1 << 20

// probe looks at the plugin by what it serves, and by what Linux reports of its process.
type probe struct {
	url, token string
	pid        int
	client     *http.Client
}

func newProbe(url, token string, pid int) *probe {
	return &probe{url: url, token: strings.TrimSpace(token), pid: pid, client: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // on this machine, asked for figures
	}}}
}

// awaitReady waits until every controller is.
func (p *probe) awaitReady(ctx context.Context) error {
	for {
		said, err := p.get(ctx, "/readyz")
		if err == nil {
			return nil
		}
		if wait(ctx, 100*time.Millisecond) != nil {
			return fmt.Errorf("waiting for the plugin to be ready: %w\n%s", err, said)
		}
	}
}

// get asks for a page. The text is what was said, even with an error.
func (p *probe) get(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, http.NoBody)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := p.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("asking for %s: %s", path, resp.Status)
	}
	return string(body), err
}

// sample has garbage collected, and looks.
func (p *probe) sample(ctx context.Context, began time.Time) (sample, error) {
	s := sample{at: time.Since(began)}
	profile, err := p.get(ctx, "/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		return s, err
	}
	if s.heap, err = heapAlloc(profile); err != nil {
		return s, err
	}
	page, err := p.get(ctx, "/metrics")
	if err != nil {
		return s, err
	}
	for lines := bufio.NewScanner(strings.NewReader(page)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		name, _, _ = strings.Cut(name, "{")
		to := map[string]*float64{
			"go_goroutines": &s.goroutines, "process_open_fds": &s.files,
			"process_resident_memory_bytes": &s.resident, "kubectl_reconcile_reconciles_total": &s.reconciles,
		}[name]
		if to == nil {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return s, fmt.Errorf("reading the metric %s: %w", name, err)
		}
		*to += n
	}
	if s.goroutines == 0 || s.resident == 0 {
		return s, fmt.Errorf("reading /metrics: it has no metrics of the process: %s", s)
	}
	return s, nil
}

// heapAlloc finds how many bytes were in use when the profile was begun, right after the collection. /metrics would
// count what it allocates itself, which is a quarter as much again.
func heapAlloc(profile string) (float64, error) {
	const name = "# HeapAlloc = "
	_, rest, found := strings.Cut(profile, name)
	value, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseFloat(value, 64)
	if !found || err != nil {
		return 0, fmt.Errorf("the profile of the heap has no line %q with a number", name)
	}
	return n, nil
}

// dump writes the stacks of all goroutines to a file in the folder, if one is given.
func (p *probe) dump(ctx context.Context, folder string) error {
	if folder == "" {
		return nil
	}
	for name, path := range map[string]string{
		"goroutines.txt": "/debug/pprof/goroutine?debug=2", "metrics.txt": "/metrics", "ready.txt": "/readyz?verbose",
	} {
		page, err := p.get(ctx, path)
		if page == "" {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(page), 0o600); err != nil {
			return err
		}
	}
	return nil
}
