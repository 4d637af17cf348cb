package inspect

// knownPolarities are the conditions of built-in kinds and of common families, specific ones first. Sources are the
// constants and doc comments of k8s.io/api and of the projects' API types.
var knownPolarities = []polarityRule{
	{"", "Node", "Ready", Positive},
	{"", "Node", "*", Negative},
}
