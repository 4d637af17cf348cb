package session

import (
	"bytes"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestManifests: they are printed for kubectl, and fill no terminal.
func TestManifests(t *testing.T) {
	objects := []runtime.Object{&corev1.ConfigMap{}, &corev1.Secret{}}
	var buffer bytes.Buffer
	if printed, err := (&Outputs{notes: &buffer}).Manifests(objects); err != nil || !printed || bytes.Count(buffer.Bytes(), []byte("---\n")) != 2 {
		t.Errorf("to a pipe: %t, %v, %s", printed, err, buffer.String())
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals here")
	}
	defer terminal.Close()
	if printed, err := (&Outputs{notes: terminal}).Manifests(objects); err != nil || printed {
		t.Errorf("to a terminal: %t, %v", printed, err)
	}
}
