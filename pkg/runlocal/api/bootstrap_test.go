package api

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAuthoritiesArePublished: other API servers read there whose client certificates to accept.
func TestAuthoritiesArePublished(t *testing.T) {
	_, authority := newClientAuthority(t)
	f := start(t, Options{ClientCA: authority})
	maps := f.CoreV1().ConfigMaps("kube-system")
	eventually(t, "the authority is published", func(ctx context.Context) (bool, error) {
		published, err := maps.Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && published.Data["client-ca-file"] == string(authority), err
	})
}
