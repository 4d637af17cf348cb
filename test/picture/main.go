// Command picture draws what a program has printed on a terminal, with its colours, as an SVG:
//
//	script -qefc "kubectl reconcile tree" /dev/null | go run ./test/picture -title "kubectl reconcile tree" >tree.svg
//
// `make pictures` makes those of the documentation. It knows the sequences for colours, bold and dim text, and leaves
// out all others; what moves the cursor cannot be drawn.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	title := flag.String("title", "", "the command, shown in the first line")
	head := flag.Int("head", 0, "how many lines of the beginning to draw; 0 draws all")
	tail := flag.Int("tail", 0, "with -head, how many lines of the end")
	flag.Parse()
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		_, err = os.Stdout.WriteString(draw(*title, cut(parse(string(text)), *head, *tail)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
