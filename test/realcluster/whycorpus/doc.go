// Package whycorpus plays the corpus of `kubectl reconcile why` on real control planes: the situations in which
// controllers act on one with kube-controller-manager, kube-scheduler, and kwok for kubelets; the others, whose objects
// have been given a status, on a kube-apiserver beside which nothing runs. The cause that a situation names must be
// found there too.
//
// Situations are files in cmd/kubectl-reconcile/internal/why/testdata/corpus, and so is why one cannot be played on a
// real control plane (embeddedOnly). The test of that package plays them, on embedded control planes or on those that
// this package starts; here is no code of theirs, as this module does not import the plugin's.
//
// WHY_SITUATION plays only those whose names contain it. With -v all answers are shown.
package whycorpus
