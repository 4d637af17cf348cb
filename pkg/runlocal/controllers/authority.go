package controllers

import "crypto"

// Authority is what kube-controller-manager is started with on a control plane, and what no API tells: the keys and the
// certificates that it signs with. Its zero value is that of somebody who has only a client's credentials.
type Authority struct {
	// RootCA are the certificates, in PEM, by which pods know the API server; nil if they are not known.
	RootCA []byte
	// ServiceAccountKey signs the tokens of service accounts; nil if it is not known.
	ServiceAccountKey crypto.Signer
	// SigningCertFile and SigningKeyFile hold the certificate and the key, in PEM, that certificate signing requests are
	// signed with. Both or none are set.
	SigningCertFile, SigningKeyFile string
}

// What Controller.Lacks says, and NotRunError.Reason.
const (
	LacksRootCA            = "it publishes the certificate that the API server is known by, which is not given"
	LacksServiceAccountKey = "it signs with the private key of service accounts, which is not given"
	LacksSigningAuthority  = "it signs with the certificate and the key of an authority, which are not given"
)

func lacksRootCA(a Authority) string {
	if len(a.RootCA) == 0 {
		return LacksRootCA
	}
	return ""
}

func lacksServiceAccountKey(a Authority) string {
	if a.ServiceAccountKey == nil {
		return LacksServiceAccountKey
	}
	return ""
}

func lacksSigningAuthority(a Authority) string {
	if a.SigningCertFile == "" || a.SigningKeyFile == "" {
		return LacksSigningAuthority
	}
	return ""
}
