package main

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/tools/clientcmd"
)

// delayVariable names how late the answers of every sandbox are that a script starts with --kubeconfig-out, such as
// 200ms: what a script waits for must come all the same. test/stress.sh sets it.
const delayVariable = "TEST_ANSWER_DELAY"

// delayAnswers has the kubeconfigs that the script's processes have written lead to their servers by way of one that
// delays what they answer. It does so once for each, and nothing without the variable.
func delayAnswers(ts *testscript.TestScript) {
	setting := os.Getenv(delayVariable)
	if setting == "" {
		return
	}
	late, err := time.ParseDuration(setting)
	ts.Check(err)
	for _, p := range ts.Value(processesKey{}).(processes) {
		at := slices.Index(p.cmd.Args, "--kubeconfig-out") + 1
		if at == 0 || at == len(p.cmd.Args) || p.delayed {
			continue
		}
		file := ts.MkAbs(p.cmd.Args[at])
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			continue // it does not serve yet
		}
		config, err := clientcmd.LoadFromFile(file)
		ts.Check(err)
		for _, cluster := range config.Clusters {
			server, err := url.Parse(cluster.Server)
			ts.Check(err)
			server.Host = forward(ts, server.Host, late)
			cluster.Server = server.String()
		}
		ts.Check(clientcmd.WriteToFile(*config, file))
		p.delayed = true
	}
}

// forward listens and passes what it gets to an address, and what comes back late. It returns where. It ends with the
// script, or when the server at the address has ended: then connections are refused here too.
func forward(ts *testscript.TestScript, address string, late time.Duration) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", address)
			if err != nil {
				_ = client.Close()
				continue
			}
			go pass(server, client, 0, func() {})
			go pass(client, server, late, func() {
				if probe, err := net.Dial("tcp", address); err == nil {
					_ = probe.Close()
					return
				}
				_ = listener.Close()
			})
		}
	}()
	return listener.Addr().String()
}

// pass writes what from sends, each part late, until either end is closed. Then it calls ended and closes both.
func pass(to io.WriteCloser, from io.ReadCloser, late time.Duration, ended func()) {
	type part struct {
		due  time.Time
		data []byte
	}
	parts := make(chan part, 1024)
	go func() {
		defer close(parts)
		for {
			buffer := make([]byte, 32<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				parts <- part{time.Now().Add(late), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range parts {
		<-time.After(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			_ = from.Close() // ends the reading; what is left of it is dropped
		}
	}
	ended()
	_ = to.Close()
	_ = from.Close()
}

// TestPass: each part comes late, and none later for those before it.
func TestPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, clientEnd := net.Pipe()
		server, serverEnd := net.Pipe()
		go pass(clientEnd, serverEnd, time.Second, func() {})
		began := time.Now()
		go func() {
			for _, text := range []string{"one ", "two"} {
				if _, err := io.WriteString(server, text); err != nil {
					t.Error(err)
				}
				<-time.After(300 * time.Millisecond)
			}
			_ = server.Close()
		}()
		var arrived []time.Duration
		var got bytes.Buffer
		for buffer := make([]byte, 16); ; {
			n, err := client.Read(buffer)
			if err != nil {
				break
			}
			got.Write(buffer[:n])
			arrived = append(arrived, time.Since(began))
		}
		if want := []time.Duration{time.Second, 1300 * time.Millisecond}; got.String() != "one two" || slices.CompareFunc(arrived, want, cmp.Compare) != 0 {
			t.Errorf("%q arrived after %v, want %v", got.String(), arrived, want)
		}
	})
}
