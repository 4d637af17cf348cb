package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// aggregated is `aggregated KUBECONFIG COPY GROUP/VERSION`: the copy leads to the same API by way of a server that has
// one API group more, whose own server does not answer, as kube-apiserver reports an APIService that is not available:
// stale in discovery, and 503 otherwise.
func aggregated(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: aggregated KUBECONFIG COPY GROUP/VERSION")
	}
	group, version, _ := strings.Cut(args[2], "/")
	byWayOf(ts, args[0], args[1], func(resp *http.Response) error {
		if resp.Request.URL.Path != "/apis" {
			return nil
		}
		return addStaleGroup(resp, group, version)
	}, func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/apis/"+group+"/") {
			return false
		}
		http.Error(w, "service unavailable", http.StatusServiceUnavailable)
		return true
	})
}

// older is `older KUBECONFIG COPY GROUP/VERSION...`: the copy leads to the same API by way of a server that does not
// have these versions of groups.
func older(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: older KUBECONFIG COPY GROUP/VERSION...")
	}
	byWayOf(ts, args[0], args[1], func(resp *http.Response) error {
		if resp.Request.URL.Path != "/apis" {
			return nil
		}
		return changeGroups(resp, func(groups []any) []any { return withoutVersions(groups, args[2:]) })
	}, func(w http.ResponseWriter, r *http.Request) bool {
		for _, gv := range args[2:] {
			if r.URL.Path == "/apis/"+gv || strings.HasPrefix(r.URL.Path, "/apis/"+gv+"/") {
				http.NotFound(w, r)
				return true
			}
		}
		return false
	})
}

// withoutVersions leaves out versions of groups, and groups of which none is left.
func withoutVersions(groups []any, out []string) []any {
	return slices.DeleteFunc(groups, func(g any) bool {
		group := g.(map[string]any)
		name := group["metadata"].(map[string]any)["name"].(string)
		versions := slices.DeleteFunc(group["versions"].([]any), func(v any) bool {
			return slices.Contains(out, name+"/"+v.(map[string]any)["version"].(string))
		})
		group["versions"] = versions
		return len(versions) == 0
	})
}

// byWayOf writes a kubeconfig that leads to the API of another by way of a server. This one answers what answer says
// that it has answered, and changes the API's answers.
func byWayOf(ts *testscript.TestScript, from, to string, change func(*http.Response) error, answer func(http.ResponseWriter, *http.Request) bool) {
	config, err := clientcmd.BuildConfigFromFlags("", ts.MkAbs(from))
	ts.Check(err)
	target, err := url.Parse(config.Host)
	ts.Check(err)
	transport, err := rest.TransportFor(config)
	ts.Check(err)
	proxy := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,                         // watches
		ErrorLog:      log.New(io.Discard, "", 0), // of connections that a script breaks
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: change,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answer(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ts.Value(proxiesKey{}).(proxies)[to] = server
	out := clientcmdapi.NewConfig()
	out.Clusters["aggregated"] = &clientcmdapi.Cluster{Server: server.URL}
	out.Contexts["aggregated"] = &clientcmdapi.Context{Cluster: "aggregated"}
	out.CurrentContext = "aggregated"
	ts.Check(clientcmd.WriteToFile(*out, ts.MkAbs(to)))
}

// proxies are the servers of aggregated, by the kubeconfigs that lead to them.
type proxies map[string]*httptest.Server

type proxiesKey struct{}

// cut is `cut KUBECONFIG`: it breaks all connections to the server that aggregated has made for it, watches among them.
func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || ts.Value(proxiesKey{}).(proxies)[args[0]] == nil {
		ts.Fatalf("usage: cut KUBECONFIG, which aggregated has written")
	}
	ts.Value(proxiesKey{}).(proxies)[args[0]].CloseClientConnections()
}

// addStaleGroup adds a group to an answer of aggregated discovery.
func addStaleGroup(resp *http.Response, group, version string) error {
	return changeGroups(resp, func(groups []any) []any {
		return append(groups, map[string]any{
			"metadata": map[string]any{"name": group},
			"versions": []any{map[string]any{"version": version, "freshness": "Stale"}},
		})
	})
}

// changeGroups changes the groups in an answer of aggregated discovery.
func changeGroups(resp *http.Response, change func([]any) []any) error {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	list := map[string]any{}
	if err := json.Unmarshal(body, &list); err != nil {
		return fmt.Errorf("reading the discovery of %s: %w", resp.Request.URL, err)
	}
	items, _ := list["items"].([]any)
	list["items"] = change(items)
	if body, err = json.Marshal(list); err != nil {
		return err
	}
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}
