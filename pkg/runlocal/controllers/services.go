package controllers

// services publish the addresses of pods.
func services() []Controller {
	return []Controller{endpointsController(), endpointSliceController(), endpointSliceMirroringController()}
}
