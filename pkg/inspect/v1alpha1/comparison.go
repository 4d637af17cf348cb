package v1alpha1

// Comparison is what `diff --from FILE --at MOMENT --to MOMENT -o json` prints: how the objects of a recording differ
// at two moments. Values of Secrets are hidden.
type Comparison struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// The moments.
	From RecordedMoment `json:"from"`
	To   RecordedMoment `json:"to"`
	// The objects that are not the same, sorted by kind, namespace and name. One that was deleted and created again is
	// changed, also in its uid.
	Objects []PlanObject `json:"objects"`
	// What is not compared, and why, for people.
	LeftOut []string `json:"leftOut,omitempty"`
}

// RecordedMoment is a moment of a recording.
type RecordedMoment struct {
	// The number of the last record up to it, from 1.
	Record int64 `json:"record"`
	// When it was; absent if the recording has no times.
	Time string `json:"time,omitempty"`
}
