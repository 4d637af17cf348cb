package main

import (
	"embed"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
)

// templates are the manifests, to be filled.
//
//go:embed reconcile.yaml debug-controllers.yaml
var templates embed.FS

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil { //nolint:forbidigo // main has the streams
		log.Fatal(err)
	}
}

// run fills the manifests by the flags in args, and prints the names of the files that it has written.
func run(args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("krew", flag.ContinueOnError)
	flags.SetOutput(errOut)
	sumsFile := flags.String("checksums", "dist/checksums.txt", "file with the checksums of a release's archives")
	index := flags.String("out", "dist/krew-index", "folder of the index, in which plugins/ is written")
	base := flags.String("base", "", "URL of the folder with the archives, in place of the release's")
	if err := flags.Parse(args); err != nil {
		return err
	}
	f, err := os.Open(*sumsFile)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it is only read
	sums, err := readChecksums(f)
	if err != nil {
		return fmt.Errorf("reading %s: %w", *sumsFile, err)
	}
	version, err := sums.version()
	if err != nil {
		return fmt.Errorf("reading %s: %w", *sumsFile, err)
	}
	return writeIndex(out, filepath.Join(*index, "plugins"), version, *base, sums)
}

// writeIndex fills all manifests and writes them to a folder.
func writeIndex(out io.Writer, folder, version, base string, sums checksums) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	names, err := fs.Glob(templates, "*.yaml")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(templates, name)
		if err != nil {
			return err
		}
		filled, err := fill(name, string(text), version, base, sums)
		if err != nil {
			return fmt.Errorf("filling %s: %w", name, err)
		}
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, filled, 0o644); err != nil { //nolint:gosec // a manifest is public
			return err
		}
		fmt.Fprintln(out, file)
	}
	return nil
}
