package controllers

// devices allocate devices to pods and check what the API server is configured with.
func devices() []Controller {
	return []Controller{resourceClaimController(), serviceCIDRController(), policyStatusController()}
}
