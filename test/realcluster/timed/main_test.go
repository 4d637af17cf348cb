//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "taken")
	for _, tt := range []struct {
		reason string
		args   []string
		code   int
		wall   time.Duration
		fails  bool
	}{
		{"what it took is told", []string{file, "sh", "-c", "sleep 0.2"}, 0, 200 * time.Millisecond, false},
		{"a program that fails has taken something, too", []string{file, "sh", "-c", "exit 7"}, 7, 1, false},
		{"no such program", []string{file, "/no/such/program"}, 0, 0, true},
		{"no program", []string{file}, 0, 0, true},
		{"no such folder", []string{file + "/x", "true"}, 0, 0, true},
	} {
		_ = os.Remove(file)
		code, err := run(tt.args)
		if (err != nil) != tt.fails || err == nil && code != tt.code {
			t.Errorf("%s: code %d, %v", tt.reason, code, err)
		}
		if tt.fails {
			continue
		}
		var got Taken
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &got)
		}
		if err != nil || got.Wall < tt.wall || got.CPU <= 0 || got.Peak < 100<<10 {
			t.Errorf("%s: %+v, %v", tt.reason, got, err)
		}
	}
}
