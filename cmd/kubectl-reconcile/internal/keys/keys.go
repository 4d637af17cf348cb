// Package keys reads keys from a terminal one by one, for what is played in time.
package keys

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// Name is what a key does.
type Name int

// What keys do.
const (
	Pause Name = iota
	Faster
	Slower
	Quit
	Move   // by Press.By
	Step   // by Press.Number records, which may be negative
	Number // to Press.Number
)

// Press is a key, or the digits before Enter.
type Press struct {
	Name   Name
	By     time.Duration
	Number int64
}

// Terminal is a terminal whose keys are read one by one. It must be closed.
type Terminal struct {
	// Keys is closed when the terminal is.
	Keys chan Press
	// Out is stdout, for a terminal that does not return the carriage by itself.
	Out io.Writer
	fd  int
	old *term.State
}

// Open prepares the terminal; nil if stdin or stdout is none, if stdin is used for other things, or if the program runs
// in the background, where it would be stopped.
func Open(streams genericiooptions.IOStreams, stdinUsed bool) *Terminal {
	in, ok := streams.In.(interface {
		io.Reader
		Fd() uintptr
	})
	if !ok || stdinUsed || !render.IsTerminal(in) || !render.IsTerminal(streams.Out) {
		return nil
	}
	fd := int(in.Fd())
	if !inForeground(fd) {
		return nil
	}
	old, err := term.MakeRaw(fd)
	if err != nil {
		return nil
	}
	k := &Terminal{Keys: make(chan Press, 16), Out: RawWriter{streams.Out}, fd: fd, old: old}
	go readKeys(in, k.Keys) // it ends with the process: a read of a terminal cannot be ended
	return k
}

// Close makes the terminal what it was.
func (k *Terminal) Close() { _ = term.Restore(k.fd, k.old) } // there is nothing to be done about it

// RawWriter writes to a terminal that does not return the carriage by itself.
type RawWriter struct{ Out io.Writer }

// Write implements io.Writer.
func (w RawWriter) Write(text []byte) (int, error) {
	if _, err := w.Out.Write(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// readKeys sends keys until the terminal is closed. What comes faster than it is taken is dropped.
func readKeys(in io.Reader, keys chan<- Press) {
	defer close(keys)
	var p parser
	buffer := make([]byte, 64)
	for {
		n, err := in.Read(buffer)
		for _, key := range p.parse(string(buffer[:n])) {
			select {
			case keys <- key:
			default:
			}
		}
		if err != nil {
			return
		}
	}
}

// parser makes keys of what a terminal sends. It keeps digits until Enter.
type parser struct{ digits string }

// The control sequences of arrows, in both modes of a terminal.
var arrows = map[string]time.Duration{
	"\x1b[D": -10 * time.Second, "\x1bOD": -10 * time.Second, "\x1b[C": 10 * time.Second, "\x1bOC": 10 * time.Second,
	"\x1b[B": -time.Minute, "\x1bOB": -time.Minute, "\x1b[A": time.Minute, "\x1bOA": time.Minute,
}

// maxDigits bounds a number that is typed.
const maxDigits = 18

func (p *parser) parse(text string) []Press {
	var out []Press
	for text != "" {
		if len(text) >= 3 {
			if by, ok := arrows[text[:3]]; ok {
				out, text = append(out, Press{Name: Move, By: by}), text[3:]
				continue
			}
		}
		c := text[0]
		text = text[1:]
		switch {
		case c == ' ':
			out = append(out, Press{Name: Pause})
		case c == '.' || c == ',':
			out = append(out, Press{Name: Step, Number: int64(c) - '-'}) // between them in ASCII
		case c == '+':
			out = append(out, Press{Name: Faster})
		case c == '-':
			out = append(out, Press{Name: Slower})
		case c == 'q' || c == 'Q' || c == 3 || c == 4: // Ctrl-C and Ctrl-D, which a raw terminal sends as they are
			out = append(out, Press{Name: Quit})
		case c >= '0' && c <= '9' && len(p.digits) < maxDigits:
			p.digits += string(c)
		case (c == '\r' || c == '\n') && strings.Trim(p.digits, "0") != "":
			number, err := strconv.ParseInt(p.digits, 10, 64)
			if p.digits = ""; err == nil {
				out = append(out, Press{Name: Number, Number: number})
			}
		}
	}
	return out
}
