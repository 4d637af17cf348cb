// Package recording tests `kubectl reconcile record` on a real control plane: what is lost when the recorder, or the API
// server that it records, is killed. It compares recordings with what clients were answered, and with the audit log.
package recording
