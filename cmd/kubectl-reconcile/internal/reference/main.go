package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/root"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil { //nolint:forbidigo // main has the streams
		log.Fatal(err)
	}
}

// run writes the pages that the flags in args select.
func run(args []string, errOut io.Writer) error {
	flags := flag.NewFlagSet("reference", flag.ContinueOnError)
	flags.SetOutput(errOut)
	markdown := flags.String("markdown", "", "write Markdown to this folder, which has nothing else")
	man := flags.String("man", "", "write man pages to this folder, which has nothing else")
	version := flags.String("version", "", "the release that man pages are made for")
	date := flags.Int64("date", 0, "its date, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *markdown == "" && *man == "" {
		return fmt.Errorf("nothing to write: give -markdown or -man")
	}
	commands := readCommands()
	if *markdown != "" {
		if err := write(*markdown, ".md", markdownPages(commands)); err != nil {
			return err
		}
	}
	if *man == "" {
		return nil
	}
	return write(*man, ".1", manPages(commands, release{*version, time.Unix(*date, 0)}))
}

// readCommands returns the page of the root, with those of all commands.
func readCommands() *page {
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}
	return newPage(root.New("kubectl-reconcile", streams), nil)
}

// write writes pages to a folder, and removes those of commands that do not exist any more.
func write(folder, extension string, pages map[string]string) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(folder, "*"+extension))
	if err != nil {
		return err
	}
	for _, path := range old {
		if _, kept := pages[filepath.Base(path)]; !kept {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	for name, text := range pages {
		//nolint:gosec // G306: pages are public
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
