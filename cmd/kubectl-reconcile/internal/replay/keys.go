package replay

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

// keyName is what a key does.
type keyName int

// What keys do.
const (
	keyPause keyName = iota
	keyFaster
	keySlower
	keyQuit
	keyMove   // by keyPress.by
	keyNumber // to keyPress.number
)

// keyPress is a key, or the digits before Enter.
type keyPress struct {
	name   keyName
	by     time.Duration
	number int64
}

// keyTerminal is a terminal whose keys are read one by one. It must be closed.
type keyTerminal struct {
	keys chan keyPress
	out  io.Writer
	fd   int
	old  *term.State
}

// openKeys prepares the terminal; nil if stdin or stdout is none, or if stdin is the recording.
func openKeys(streams genericiooptions.IOStreams, stdinUsed bool) *keyTerminal {
	in, ok := streams.In.(interface {
		io.Reader
		Fd() uintptr
	})
	if !ok || stdinUsed || !render.IsTerminal(in) || !render.IsTerminal(streams.Out) {
		return nil
	}
	fd := int(in.Fd())
	old, err := term.MakeRaw(fd)
	if err != nil {
		return nil
	}
	k := &keyTerminal{keys: make(chan keyPress, 16), out: rawWriter{streams.Out}, fd: fd, old: old}
	go readKeys(in, k.keys) // it ends with the process: a read of a terminal cannot be ended
	return k
}

func (k *keyTerminal) close() { _ = term.Restore(k.fd, k.old) } // there is nothing to be done about it

// rawWriter writes to a terminal that does not return the carriage by itself.
type rawWriter struct{ out io.Writer }

// Write implements io.Writer.
func (w rawWriter) Write(text []byte) (int, error) {
	if _, err := w.out.Write(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// readKeys sends keys until the terminal is closed. What comes faster than it is taken is dropped.
func readKeys(in io.Reader, keys chan<- keyPress) {
	defer close(keys)
	var parser keyParser
	buffer := make([]byte, 64)
	for {
		n, err := in.Read(buffer)
		for _, key := range parser.parse(string(buffer[:n])) {
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

// keyParser makes keys of what a terminal sends. It keeps digits until Enter.
type keyParser struct{ digits string }

// The control sequences of arrows, in both modes of a terminal.
var arrows = map[string]time.Duration{
	"\x1b[D": -10 * time.Second, "\x1bOD": -10 * time.Second, "\x1b[C": 10 * time.Second, "\x1bOC": 10 * time.Second,
	"\x1b[B": -time.Minute, "\x1bOB": -time.Minute, "\x1b[A": time.Minute, "\x1bOA": time.Minute,
}

// maxDigits bounds a number that is typed.
const maxDigits = 18

func (p *keyParser) parse(text string) []keyPress {
	var out []keyPress
	for text != "" {
		if len(text) >= 3 {
			if by, ok := arrows[text[:3]]; ok {
				out, text = append(out, keyPress{name: keyMove, by: by}), text[3:]
				continue
			}
		}
		c := text[0]
		text = text[1:]
		switch {
		case c == ' ':
			out = append(out, keyPress{name: keyPause})
		case c == '+':
			out = append(out, keyPress{name: keyFaster})
		case c == '-':
			out = append(out, keyPress{name: keySlower})
		case c == 'q' || c == 'Q' || c == 3 || c == 4: // Ctrl-C and Ctrl-D, which a raw terminal sends as they are
			out = append(out, keyPress{name: keyQuit})
		case c >= '0' && c <= '9' && len(p.digits) < maxDigits:
			p.digits += string(c)
		case (c == '\r' || c == '\n') && strings.Trim(p.digits, "0") != "":
			number, err := strconv.ParseInt(p.digits, 10, 64)
			if p.digits = ""; err == nil {
				out = append(out, keyPress{name: keyNumber, number: number})
			}
		}
	}
	return out
}
