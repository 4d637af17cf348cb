package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/serving"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/telemetry"
)

// serveFlags say where a session's health, metrics, profiles and trace are served.
type serveFlags struct {
	address   string
	tokenFile string
}

func (f *serveFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.address, "serve", "",
		"serve /healthz, /readyz, /metrics, /trace and /debug/pprof on this address, or on this port of the own machine; port 0 picks a free one")
	flags.StringVar(&f.tokenFile, "serve-token-file", "",
		"with --serve, the file with the token that clients must show; made if it is not there; by default a temporary one")
}

func (f *serveFlags) validate() error {
	if f.address == "" {
		if f.tokenFile != "" {
			return cli.WithHint(errors.New("--serve-token-file needs --serve"), "--serve 9090 serves on that port of the own machine")
		}
		return nil
	}
	_, remote, err := telemetry.Address(f.address)
	switch {
	case err != nil:
		return cli.WithHint(fmt.Errorf("--serve: %w", err), "for example --serve 9090, or --serve 0.0.0.0:9090 for others to reach")
	case remote && f.tokenFile == "":
		return cli.WithHint(fmt.Errorf("--serve %s lets other machines reach it: it needs --serve-token-file", f.address),
			"give those who may look the file's token; or use --serve PORT, which only the own machine reaches")
	}
	return nil
}

// Serving returns what serves; nil if nothing is to be served.
func (f *serveFlags) Serving() *telemetryServer {
	if f.address == "" {
		return nil
	}
	return newTelemetryServer(f.address, f.tokenFile)
}

// shortestToken keeps a file that is not meant to hold a token, such as an empty one, from being taken for one.
const shortestToken = 16

// tokenIn reads the token in a file, or makes one there if there is no file.
func tokenIn(path string) (string, error) {
	data, err := os.ReadFile(path) //nolint:gosec // G304: the user says where
	if errors.Is(err, os.ErrNotExist) {
		token := telemetry.NewToken()
		if err := serving.WritePrivate(path, []byte(token+"\n")); err != nil {
			return "", fmt.Errorf("writing the token file %q: %w", path, err)
		}
		return token, nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the token file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < shortestToken || strings.ContainsAny(token, " \t\r\n") {
		return "", cli.WithHint(fmt.Errorf("reading the token file %q: it holds no token of %d characters or more, without blanks", path, shortestToken),
			"name a file that is not there, and a token is made in it")
	}
	return token, nil
}

// accessFiles are what a client needs, in a folder that nobody else may read.
type accessFiles struct {
	dir   string // removed at the end
	token string // the path of the file with the token
}

// writeAccess writes the certificate to trust, the token if path names no file for it, and the header for curl.
func writeAccess(path string, ca []byte) (files accessFiles, token string, err error) {
	if files.dir, err = os.MkdirTemp("", "kubectl-reconcile-"); err != nil {
		return files, "", fmt.Errorf("making a place for the token: %w", err)
	}
	if files.token = path; path == "" {
		files.token = filepath.Join(files.dir, "token")
	}
	if token, err = tokenIn(files.token); err != nil {
		return files, "", errors.Join(err, files.remove())
	}
	for name, data := range map[string][]byte{"ca.crt": ca, "header": []byte("Authorization: Bearer " + token + "\n")} {
		if err := serving.WritePrivate(filepath.Join(files.dir, name), data); err != nil {
			return files, "", errors.Join(fmt.Errorf("writing what clients need to %q: %w", files.dir, err), files.remove())
		}
	}
	return files, token, nil
}

// remove removes the folder; what is not in it stays.
func (f accessFiles) remove() error {
	if f.dir == "" {
		return nil
	}
	return os.RemoveAll(f.dir)
}
