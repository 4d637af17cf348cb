package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"text/template"
)

// checksums has the SHA-256 of each file of a release, in lower-case hex, by the file's name.
type checksums map[string]string

// line is one of the file that sha256sum writes: a checksum, a blank, a blank or an asterisk, and a name.
var line = regexp.MustCompile(`^([0-9a-f]{64}) [ *]([^/\s]+)$`)

// readChecksums reads a file as sha256sum writes it.
func readChecksums(r io.Reader) (checksums, error) {
	sums := checksums{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil {
			return nil, fmt.Errorf("%q is no checksum and name, as sha256sum writes them", lines.Text())
		}
		sums[m[2]] = m[1]
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(sums) == 0 {
		return nil, errors.New("there are no checksums")
	}
	return sums, nil
}

// archive is the name of one that goreleaser has made: its version is what all of them have in common.
var archive = regexp.MustCompile(`^kubectl-reconcile_(v.+)_(?:linux|darwin|windows)_(?:amd64|arm64)\.(?:tar\.gz|zip)$`)

// version returns the version of the archives, such as v0.1.0.
func (s checksums) version() (string, error) {
	found := ""
	for name := range s {
		m := archive.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		if found != "" && found != m[1] {
			return "", fmt.Errorf("the archives are of several versions, %s and %s", min(found, m[1]), max(found, m[1]))
		}
		found = m[1]
	}
	if found == "" {
		return "", errors.New("no archive of a release is among the checksums")
	}
	return found, nil
}

// fill returns a manifest with the version and the checksums of a release, as krew-release-bot would fill it, which
// downloads the archives. base replaces the folder of the archives' URIs, unless it is empty.
func fill(name, text, version, base string, sums checksums) ([]byte, error) {
	functions := template.FuncMap{"addURIAndSha": func(uri, tag string) (string, error) {
		var filled strings.Builder
		t, err := template.New("uri").Parse(uri)
		if err != nil {
			return "", err
		}
		if err := t.Execute(&filled, map[string]string{"TagName": tag}); err != nil {
			return "", err
		}
		file := path.Base(filled.String())
		sum, ok := sums[file]
		if !ok {
			return "", fmt.Errorf("there is no checksum of %s", file)
		}
		address := filled.String()
		if base != "" {
			address = strings.TrimSuffix(base, "/") + "/" + file
		}
		return fmt.Sprintf("uri: %s\n      sha256: %s", address, sum), nil
	}}
	t, err := template.New(name).Funcs(functions).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, map[string]string{"TagName": version}); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
