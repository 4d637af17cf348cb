package render

import (
	"context"
	"io"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Progress shows the progress of an operation: on a terminal in one line that is erased at its end, and while others
// write to the terminal by its Writer; elsewhere in lines, now and then. All methods may be called concurrently, and on
// nil, which shows nothing.
type Progress struct {
	out   io.Writer
	clock clock.Clock
	plain bool       // of NewPlainProgress
	pipe  bool       // of NewPipeProgress: p.mu is not held while anything is written
	width func() int // of the terminal; 0 if it is not known

	mu      sync.Mutex // guards all below, and writing to the terminal
	drawn   bool
	line    string    // what was drawn last
	midLine bool      // others have not ended the line that they write: nothing is drawn in it
	began   time.Time // of the first operation of a plain progress
	said    bool      // a plain progress has written its line

	wrote time.Time     // when anything was written last, beside a progress in a pipe; or when that began
	pause time.Duration // for which nothing must be written then
}

const (
	// progressDelay is how long an operation takes before its progress is shown.
	progressDelay = time.Second
	// progressInterval is how often progress is shown; less often if computing the text takes long: the pause is at
	// least progressBackoff times that.
	progressInterval = 250 * time.Millisecond
	progressBackoff  = 10
	// plainDelay is how long the operations take together before a plain progress writes its line.
	plainDelay = 10 * time.Second
	// pipeDelay is how long nothing must be written before a progress in a pipe writes a line; after each line that is
	// twice as long, up to pipeMaxDelay.
	pipeDelay    = 10 * time.Second
	pipeMaxDelay = 5 * time.Minute
)

// NewPlainProgress returns a Progress for what is no terminal: it writes one line, with what is done after ten seconds,
// so that a server that is slow is not taken for a program that hangs.
func NewPlainProgress(out io.Writer, clk clock.Clock) *Progress {
	return &Progress{out: out, clock: clk, plain: true}
}

// NewProgress returns a Progress on out, which must be a terminal, timed by clk.
func NewProgress(out io.Writer, clk clock.Clock) *Progress {
	return &Progress{out: out, clock: clk, width: func() int { return TerminalWidth(out) }}
}

// NewPipeProgress returns a Progress for what is no terminal: it writes a line when nothing has been written for ten
// seconds, and more rarely while nothing but its lines is written.
func NewPipeProgress(out io.Writer, clk clock.Clock) *Progress {
	return &Progress{out: out, clock: clk, pipe: true}
}

// Show starts to show what text returns: first after a second, then repeatedly until end is called or ctx is done.
// end waits until nothing is shown any more, but not for a pipe that no one reads, and may be called again. text is
// called by one goroutine at a time, with a context that is done when end is called. Only one text can be shown at a
// time.
func (p *Progress) Show(ctx context.Context, text func(context.Context) string) (end func()) {
	if p == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		switch {
		case p.plain:
			p.writeLate(ctx, text)
		case p.pipe:
			p.writeAfterPauses(ctx, text)
		default:
			p.run(ctx, text)
		}
	}()
	return func() {
		cancel()
		if p.pipe {
			p.awaitLine(drawn)
			return
		}
		<-drawn
		p.mu.Lock()
		defer p.mu.Unlock()
		p.erase()
	}
}

// awaitLine waits until a line is written, but not for a pipe that no one reads: then the goroutine that writes it ends
// with the process.
func (p *Progress) awaitLine(written <-chan struct{}) {
	timer := p.clock.NewTimer(progressDelay)
	defer timer.Stop()
	select {
	case <-written:
	case <-timer.C():
	}
}

// writeLate writes what text returns in a line, once, unless ctx is done before.
func (p *Progress) writeLate(ctx context.Context, text func(context.Context) string) {
	p.mu.Lock()
	if p.began.IsZero() {
		p.began = p.clock.Now()
	}
	rest, said := max(progressDelay, plainDelay-p.clock.Since(p.began)), p.said
	p.mu.Unlock()
	if said {
		return
	}
	timer := p.clock.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return
	case <-timer.C():
	}
	line := Escape(text(ctx))
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() == nil && line != "" && !p.said {
		p.said = true
		_, _ = io.WriteString(p.out, "still "+line+"\n")
	}
}

// writeAfterPauses writes what text returns in a line whenever nothing has been written for a while, until ctx is done.
func (p *Progress) writeAfterPauses(ctx context.Context, text func(context.Context) string) {
	p.mu.Lock()
	p.wrote, p.pause = p.clock.Now(), pipeDelay
	p.mu.Unlock()
	for {
		p.mu.Lock()
		rest := p.pause - p.clock.Since(p.wrote)
		p.mu.Unlock()
		if rest <= 0 {
			line := Escape(text(ctx))
			if ctx.Err() != nil {
				return
			}
			p.writeLine(line)
			continue
		}
		timer := p.clock.NewTimer(min(rest, pipeDelay)) // others may write before that
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}

// writeLine writes a line, unless others have written meanwhile, or have begun a line.
func (p *Progress) writeLine(line string) {
	p.mu.Lock()
	isDue := p.clock.Since(p.wrote) >= p.pause
	if isDue {
		p.wrote, p.pause = p.clock.Now(), min(2*p.pause, pipeMaxDelay)
	}
	midLine := p.midLine
	p.mu.Unlock() // whoever reads the pipe may be slow
	if isDue && !midLine && line != "" {
		_, _ = io.WriteString(p.out, line+"\n") // the operation does not depend on it
	}
}

// run draws what text returns until ctx is done.
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

// draw replaces the line that is shown, unless others have begun a line.
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
	_, _ = io.WriteString(p.out, "\r"+line+eraseLine) // the operation does not depend on it
}

// erase removes the line that is shown. p.mu must be held.
func (p *Progress) erase() {
	if p.drawn {
		_, _ = io.WriteString(p.out, "\r"+eraseLine)
		p.drawn = false
	}
}

// Writer returns a writer to w, which writes to the same terminal or pipe, that erases the progress before each write.
// For a nil or a plain Progress it is w. If w is a file, the writer has its descriptor, so that it counts as a terminal
// too.
func (p *Progress) Writer(w io.Writer) io.Writer {
	if p == nil || p.plain {
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
	p := b.progress
	p.mu.Lock()
	if len(data) > 0 {
		p.erase()
		p.midLine = data[len(data)-1] != '\n'
		p.wrote, p.pause = p.clock.Now(), pipeDelay
	}
	if p.pipe { // whoever reads it may be slow: others must not wait
		p.mu.Unlock()
		return b.next.Write(data)
	}
	defer p.mu.Unlock()
	return b.next.Write(data)
}

// fileProgressWriter is a progressWriter whose writer is a file.
type fileProgressWriter struct {
	progressWriter
	descriptor
}
