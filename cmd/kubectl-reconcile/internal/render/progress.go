package render

import (
	"context"
	"io"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Progress shows on a terminal that something goes on: in one line, which is gone when that is over, and while others
// write. All its methods may be called concurrently, and on nil, which shows nothing.
type Progress struct {
	out   io.Writer
	clock clock.Clock
	width func() int // of the terminal; 0 if that is not known

	mu      sync.Mutex // held while the terminal is written to
	drawn   bool
	line    string // that was drawn last
	midLine bool   // others have not ended the line that they write: nothing is drawn behind it
}

const (
	// progressDelay is how long something goes on before that is shown.
	progressDelay = time.Second
	// progressInterval is how often it is shown how far that is; less often if it takes time to find out.
	progressInterval = 250 * time.Millisecond
	progressBackoff  = 10
)

// NewProgress returns a Progress on out, which must be a terminal, timed by clk.
func NewProgress(out io.Writer, clk clock.Clock) *Progress {
	return &Progress{out: out, clock: clk, width: func() int { return TerminalWidth(out) }}
}

// Show begins to show what text returns, after a second, and again and again, until the function that it returns is
// called, which may be called again. text is called by one goroutine at a time; its context ends with that function, or
// with ctx. Only one text can be shown at a time.
func (p *Progress) Show(ctx context.Context, text func(context.Context) string) (end func()) {
	if p == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var drawing sync.WaitGroup
	drawing.Go(func() { p.run(ctx, text) })
	return func() {
		cancel()
		drawing.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.erase()
	}
}

func (p *Progress) run(ctx context.Context, text func(context.Context) string) {
	for rest := progressDelay; ; {
		timer := p.clock.NewTimer(rest)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		began := p.clock.Now()
		line := text(ctx)
		if ctx.Err() != nil {
			return
		}
		p.draw(line)
		rest = max(progressInterval, progressBackoff*p.clock.Since(began))
	}
}

func (p *Progress) draw(text string) {
	line := Escape(text)
	if width := p.width(); width > 0 {
		line = newMeasure().Truncate(line, width-1, "…")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.midLine || p.drawn && line == p.line {
		return
	}
	p.drawn, p.line = true, line
	_, _ = io.WriteString(p.out, "\r"+line+eraseLine) // an error changes nothing for what goes on
}

// erase leaves the terminal as if nothing had been drawn. p.mu must be held.
func (p *Progress) erase() {
	if p.drawn {
		_, _ = io.WriteString(p.out, "\r"+eraseLine)
		p.drawn = false
	}
}

// Writer returns a writer to w, which writes to the same terminal: what is shown gives way to it. Of a nil Progress it
// is w.
func (p *Progress) Writer(w io.Writer) io.Writer {
	if p == nil {
		return w
	}
	beside := progressWriter{p, w}
	if file, ok := w.(descriptor); ok {
		return &fileProgressWriter{beside, file}
	}
	return &beside
}

// progressWriter writes to the terminal that a Progress is shown on.
type progressWriter struct {
	progress *Progress
	next     io.Writer
}

// Write implements io.Writer.
func (b *progressWriter) Write(data []byte) (int, error) {
	b.progress.mu.Lock()
	defer b.progress.mu.Unlock()
	if len(data) > 0 {
		b.progress.erase()
		b.progress.midLine = data[len(data)-1] != '\n'
	}
	return b.next.Write(data)
}

// fileProgressWriter is one whose writer is a file, and may be a terminal.
type fileProgressWriter struct {
	progressWriter
	descriptor
}
