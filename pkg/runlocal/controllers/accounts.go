package controllers

import "k8s.io/utils/clock"

// accounts make service accounts, tokens, certificates and roles.
func accounts() []Controller {
	return []Controller{
		serviceAccountToken(), serviceAccountController(), rootCAPublisher(), trustBundlePublisher(),
		csrApproving(), csrSigning(), csrCleaner(), podCertificateRequestCleaner(clock.RealClock{}),
		clusterRoleAggregation(), bootstrapSigner(), tokenCleaner(), legacyTokenCleaner(clock.RealClock{}),
	}
}
