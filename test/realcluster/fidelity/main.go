// Command fidelity shows what the differential suites have found, from the folder that they wrote it to. It fails if
// anything differs that is not meant to.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/report"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("fidelity", flag.ContinueOnError)
	write := flags.String("write", "", "write the page to this file")
	check := flags.String("check", "", "fail unless this file is what would be written")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: fidelity [-write FILE | -check FILE] FOLDER")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("one folder with reports is needed")
	}
	suites, err := report.Read(flags.Arg(0))
	if err != nil {
		return err
	}
	if err := report.Table(out, suites); err != nil {
		return err
	}
	if err := verdict(suites); err != nil {
		return err
	}
	var page bytes.Buffer
	if err := report.Page(&page, suites); err != nil {
		return err
	}
	return keep(page.Bytes(), *write, *check)
}

// verdict is an error if anything differs that is not meant to.
func verdict(suites []report.Suite) error {
	var errs []error
	for _, s := range suites {
		if n := s.Counts().Different; n > 0 {
			errs = append(errs, fmt.Errorf("%d %s differ", n, s.Unit))
		}
	}
	return errors.Join(errs...)
}

// keep writes the page, or compares it with what is there, if a file is named for it.
func keep(page []byte, write, check string) error {
	if write != "" {
		if err := os.WriteFile(write, page, 0o644); err != nil { //nolint:gosec // G306: a page to be read
			return fmt.Errorf("writing the page: %w", err)
		}
	}
	if check == "" {
		return nil
	}
	there, err := os.ReadFile(check)
	if err != nil {
		return fmt.Errorf("reading the page: %w", err)
	}
	if !bytes.Equal(there, page) {
		return fmt.Errorf("%s is not what was measured: make fidelity writes it", check)
	}
	return nil
}
