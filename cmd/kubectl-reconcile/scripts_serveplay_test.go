package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// requested is `requested KUBECONFIG METHOD PATH CODE PATTERN`: the API of the kubeconfig answers a request with that
// status, and with a match of the pattern.
func requested(ctx context.Context, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: requested KUBECONFIG METHOD PATH CODE PATTERN")
	}
	config, err := clientcmd.BuildConfigFromFlags("", ts.MkAbs(args[0]))
	ts.Check(err)
	client, err := rest.HTTPClientFor(config)
	ts.Check(err)
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, args[1], config.Host+args[2], http.NoBody)
	ts.Check(err)
	response, err := client.Do(request)
	ts.Check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	ts.Check(err)
	pattern, err := regexp.Compile("(?s)" + args[4])
	ts.Check(err)
	if want, err := strconv.Atoi(args[3]); err != nil || response.StatusCode != want || !pattern.Match(body) {
		ts.Fatalf("%s %s: %s %s", args[1], args[2], response.Status, body)
	}
}
