package render

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

// shared is a terminal that several streams write to. It keeps what can be read on it, and whatever was on it at any
// time.
type shared struct {
	mu     sync.Mutex
	lines  []string // the last is the one that the cursor is in
	column int
	ever   strings.Builder
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ever.Write(p)
	if s.lines == nil {
		s.lines = []string{""}
	}
	last := len(s.lines) - 1
	for text := string(p); text != ""; {
		if rest, ok := strings.CutPrefix(text, eraseLine); ok {
			s.lines[last], text = s.lines[last][:s.column], rest
			continue
		}
		switch c := text[:1]; c {
		case "\r":
			s.column = 0
		case "\n":
			s.lines, s.column = append(s.lines, ""), 0
			last++
		default:
			line := s.lines[last]
			s.lines[last] = line[:s.column] + c + line[min(s.column+1, len(line)):]
			s.column++
		}
		text = text[1:]
	}
	return len(p), nil
}

// text is what is on the terminal.
func (s *shared) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

func (s *shared) total() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ever.String()
}

// newProgress returns one on a terminal of that width, and the stdout beside it.
func newProgress(width int) (*Progress, *shared, io.Writer) {
	screen := &shared{}
	p := NewProgress(screen, clock.RealClock{})
	p.width = func() int { return width }
	return p, screen, p.Writer(screen)
}

func TestProgress(t *testing.T) {
	for _, tt := range []struct {
		reason string
		takes  time.Duration
		want   string // on the terminal, at its end
	}{
		{"a short operation is not shown", progressDelay - time.Millisecond, ""},
		{"a longer one is", progressDelay + time.Millisecond, "1 of 9 ready"},
		{"and how far it is", 5 * time.Second, "5 of 9 ready"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, screen, _ := newProgress(80)
				began := time.Now()
				end := p.Show(t.Context(), func(context.Context) string { return fmt.Sprintf("%d of 9 ready", int(time.Since(began).Seconds())) })
				<-time.After(tt.takes)
				synctest.Wait()
				if diff := cmp.Diff(tt.want, screen.text()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				end()
				end()
				if got := screen.text(); got != "" {
					t.Errorf("at the end there is %q", got)
				}
				if written := screen.total(); tt.want == "" && written != "" {
					t.Errorf("%q was written", written)
				}
			})
		})
	}
}

// TestPlainProgress: one line, if the operations take long together.
func TestPlainProgress(t *testing.T) {
	for _, tt := range []struct {
		reason string
		takes  []time.Duration
		want   string
	}{
		{"a server that answers", []time.Duration{plainDelay - time.Millisecond}, ""},
		{"one that is slow", []time.Duration{time.Minute}, "still reading 1\n"},
		{"its first answer too", []time.Duration{plainDelay - time.Second, time.Minute}, "still reading 2\n"},
		{"a fast operation after a slow one", []time.Duration{plainDelay - time.Millisecond, progressDelay / 2}, ""},
		{"it is written once", []time.Duration{time.Minute, time.Minute}, "still reading 1\n"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				p := NewPlainProgress(&out, clock.RealClock{})
				for i, takes := range tt.takes {
					end := p.Show(t.Context(), func(context.Context) string { return fmt.Sprintf("reading %d", i+1) })
					<-time.After(takes)
					end()
				}
				if got := out.String(); got != tt.want {
					t.Errorf("%q, want %q", got, tt.want)
				}
			})
		})
	}
}

// TestProgressGivesWay: what others write is on separate lines, and the progress is drawn again below it.
func TestProgressGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, screen, out := newProgress(80)
		end := p.Show(t.Context(), func(context.Context) string { return "waiting" })
		steps := []struct{ write, at, later string }{
			{"", "waiting", "waiting"},
			{"+0.1s  a block\n", "+0.1s  a block\n", "+0.1s  a block\nwaiting"},
			{"half ", "+0.1s  a block\nhalf ", "+0.1s  a block\nhalf "},
			{"a line\n", "+0.1s  a block\nhalf a line\n", "+0.1s  a block\nhalf a line\nwaiting"},
		}
		<-time.After(2 * progressDelay)
		for _, step := range steps {
			if _, err := io.WriteString(out, step.write); err != nil {
				t.Fatal(err)
			}
			if got := screen.text(); got != step.at {
				t.Errorf("after %q there is %q, want %q", step.write, got, step.at)
			}
			<-time.After(2 * progressDelay)
			synctest.Wait()
			if got := screen.text(); got != step.later {
				t.Errorf("a while after %q there is %q, want %q", step.write, got, step.later)
			}
		}
		end()
		if got, want := screen.text(), "+0.1s  a block\nhalf a line\n"; got != want {
			t.Errorf("at the end there is %q, want %q", got, want)
		}
	})
}

func TestProgressFits(t *testing.T) {
	for _, tt := range []struct {
		reason, text, want string
		width              int
	}{
		{"one line, and no more", "reading: 12 of 80 kinds", "reading: 1…", 12},
		{"the last cell stays free: a terminal would go on in the next line", "waiting", "waiti…", 7},
		{"a terminal of which nothing is known", "waiting", "waiting", 0},
		{"names come from outside", "a\n\x1b[2Jb", "a⏎ ^[[2Jb", 80},
		{"nothing to say", "", "", 80},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, screen, _ := newProgress(tt.width)
			end := p.Show(t.Context(), func(context.Context) string { return tt.text })
			defer end()
			<-time.After(2 * progressDelay)
			synctest.Wait()
			line := screen.total()
			line = line[strings.LastIndex(line, "\r")+1:]
			if got := strings.TrimSuffix(line, eraseLine); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}

// TestProgressEndsWhileItAsks: a server that does not answer how far it is does not hold up the end.
func TestProgressEndsWhileItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, screen, _ := newProgress(80)
		asked := 0
		end := p.Show(t.Context(), func(ctx context.Context) string {
			asked++
			<-ctx.Done()
			return "too late"
		})
		<-time.After(time.Hour)
		end()
		if asked != 1 || screen.total() != "" {
			t.Errorf("asked %d times, and %q was written", asked, screen.total())
		}
	})
}

// TestProgressRests: to ask how far something is must not hold it up.
func TestProgressRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, _ := newProgress(80)
		asked := 0
		end := p.Show(t.Context(), func(context.Context) string {
			asked++
			<-time.After(time.Second)
			return "slow"
		})
		<-time.After(time.Minute)
		end()
		if asked < 4 || asked > 6 {
			t.Errorf("asked %d times in a minute, for a second each", asked)
		}
	})
}

func TestNoProgress(t *testing.T) {
	var p *Progress
	var out strings.Builder
	end := p.Show(t.Context(), func(context.Context) string { return "x" })
	if w := p.Writer(&out); w != io.Writer(&out) {
		t.Errorf("without progress, a stream is wrapped: %T", w)
	}
	end()
}

// TestProgressKeepsDescriptors: behind a Progress, a stream is the terminal that it was.
func TestProgressKeepsDescriptors(t *testing.T) {
	file := openTerminal(t)
	if file == nil {
		t.Skip("no terminal")
	}
	p := NewProgress(file, clock.RealClock{})
	if w := p.Writer(file); !IsTerminal(w) {
		t.Error("a terminal is none any more")
	}
	if w := p.Writer(&strings.Builder{}); IsTerminal(w) {
		t.Error("what is no terminal is one")
	}
}

// TestPipeProgress: a line whenever nothing was written for a while, more and more rarely.
func TestPipeProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown := &shared{}
		p := NewPipeProgress(shown, clock.RealClock{})
		out := p.Writer(shown)
		began := time.Now()
		end := p.Show(t.Context(), func(context.Context) string { return fmt.Sprint("at ", time.Since(began)) })
		for _, step := range []struct {
			after       time.Duration
			write, want string
		}{
			{pipeDelay - time.Second, "", ""},
			{2 * time.Second, "", "at 10s\n"},
			{19 * time.Second, "", "at 10s\nat 30s\n"},
			{5 * time.Second, "a line\n", "at 10s\nat 30s\na line\n"}, // at 35 s
			{pipeDelay - time.Second, "", "at 10s\nat 30s\na line\n"},
			{2 * time.Second, "", "at 10s\nat 30s\na line\nat 45s\n"},
			{time.Second, "half ", "at 10s\nat 30s\na line\nat 45s\nhalf "},
			{time.Hour, "", "at 10s\nat 30s\na line\nat 45s\nhalf "},
			{0, "a line\n", "at 10s\nat 30s\na line\nat 45s\nhalf a line\n"},
		} {
			<-time.After(step.after)
			synctest.Wait()
			if step.write != "" {
				if _, err := io.WriteString(out, step.write); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(step.want, shown.total()); diff != "" {
				t.Errorf("at %s (-want +got):\n%s", time.Since(began), diff)
			}
		}
		end()
	})
	var nothing *Progress
	nothing.Show(t.Context(), nil)()
}

// TestUnreadPipe: a pipe that no one reads holds up neither the end of an operation nor the other stream.
func TestUnreadPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unread, blocked := io.Pipe()
		alsoUnread, progress := io.Pipe()
		var errors bytes.Buffer
		p := NewPipeProgress(progress, clock.RealClock{})
		out, errOut := p.Writer(blocked), p.Writer(&errors)
		end := p.Show(t.Context(), func(context.Context) string { return "waiting" })
		var writing sync.WaitGroup
		writing.Go(func() { _, _ = out.Write([]byte("a line\n")) }) // its error is that of the end below
		<-time.After(time.Minute)                                   // the progress is written, too
		if _, err := errOut.Write([]byte("a warning\n")); err != nil || errors.Len() == 0 {
			t.Errorf("the other stream has %q: %v", &errors, err)
		}
		end()
		for _, pipe := range []*io.PipeReader{unread, alsoUnread} {
			if err := pipe.Close(); err != nil {
				t.Error(err)
			}
		}
		writing.Wait()
	})
}
