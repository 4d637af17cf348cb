package inspect

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

var admissionPolicy = Reference{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}

// refusals recognize why an API server has refused a write, by the messages of k8s.io/apiserver and of the admission
// plugins of k8s.io/kubernetes/plugin/pkg/admission. The first submatch is what is particular, the second a name.
var refusals = []struct {
	cause   CauseType
	refers  Reference // its kind; empty if there is no other object
	pattern *regexp.Regexp
}{
	// First those that quote what a webhook or a policy has written, which may be in the words of the others.
	{WebhookUnreachable, Reference{}, regexp.MustCompile(
		`failed calling webhook "(?P<name>[^"]+)": (?:failed to call webhook: )?(?P<detail>.*)`)},
	{MissingObject, Reference{Kind: "Service"}, regexp.MustCompile(
		`(?P<detail>conversion webhook for [^:]* failed: Post "https://[^./"]+\.(?P<namespace>[^./"]+)\.svc\S*: ` +
			`service "(?P<name>[^"]+)" not found)`)},
	{WebhookUnreachable, Reference{}, regexp.MustCompile(
		`conversion webhook for (?P<name>[^:]+) failed: (?P<detail>.*)`)},
	{AdmissionDenied, Reference{}, regexp.MustCompile(
		`admission webhook "(?P<name>[^"]+)" denied the request(?:: (?P<detail>.*))?`)},
	{AdmissionDenied, admissionPolicy, regexp.MustCompile(
		`ValidatingAdmissionPolicy '(?P<name>[^']+)'(?: with binding '[^']*')? denied request: (?P<detail>.*)`)},
	{MissingObject, Reference{Kind: "ServiceAccount"}, regexp.MustCompile(
		`(?P<detail>error looking up service account (?P<namespace>[^/\s]*)/(?P<name>\S+?): .*not found)`)},
	{MissingObject, Reference{Group: "scheduling.k8s.io", Kind: "PriorityClass"}, regexp.MustCompile(
		`(?P<detail>no PriorityClass with name (?P<name>\S+) was found)`)},
	{MissingObject, Reference{Group: "node.k8s.io", Kind: "RuntimeClass"}, regexp.MustCompile(
		`(?P<detail>RuntimeClass "(?P<name>[^"]+)" not found)`)},
	{QuotaExceeded, Reference{Kind: "ResourceQuota"}, regexp.MustCompile(
		`(?:exceeded|failed) quota: (?P<name>[^:,\s]+)(?:[:,] (?P<detail>.*))?`)},
	{QuotaExceeded, Reference{Kind: "ResourceQuota"}, regexp.MustCompile( // no controller has counted yet what there is
		`(?P<detail>status unknown for quota: (?P<name>[^:,\s]+).*)`)},
	{LimitRangeViolated, Reference{}, regexp.MustCompile(
		`(?P<detail>(?:minimum|maximum) \S+ usage per \S+ is .*|\S+ max limit to request ratio per .*)`)},
	{LimitRangeViolated, Reference{}, regexp.MustCompile( // which sets this limit; the template itself is valid
		`(?P<detail>Invalid value: \S+ must be less than or equal to \S+ limit of \S+)`)},
	{AdmissionDenied, Reference{}, regexp.MustCompile(`(?P<detail>violates PodSecurity .*)`)},
	{NamespaceContent, Reference{Kind: "Namespace"}, regexp.MustCompile(
		`(?P<detail>unable to create new content in namespace (?P<name>\S+) because it is being terminated)`)},
	{EvictionBlocked, Reference{}, regexp.MustCompile(`(?P<detail>.*disruption budget.*)`)},
	{AccessDenied, Reference{}, regexp.MustCompile(
		`(?P<detail>(?:[Uu]ser )?"?system:serviceaccount:\S+ cannot \S+ .*|User "[^"]*" cannot \S+ .*)`)},
}

// Refusal returns the cause of a refusal by the message of an API server. Its Type is empty if the message is none that
// is known.
func Refusal(message string) Cause {
	for _, r := range refusals {
		m := r.pattern.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		c := Cause{Type: r.cause, Weight: Specific}
		refers := r.refers
		for i, group := range r.pattern.SubexpNames() {
			switch group {
			case "name":
				refers.Name = strings.Trim(m[i], `",`)
			case "namespace":
				refers.Namespace = m[i]
			case "detail":
				c.Detail = firstLine(TrimForbidden(m[i]))
			}
		}
		switch {
		case refers.Kind != "":
			c.Refers = &refers
		case refers.Name != "":
			c.Part = "webhook " + refers.Name
		}
		return c
	}
	return Cause{}
}

var (
	// tooLong matches a value that is refused because of its length (k8s.io/apimachinery/pkg/util/validation).
	tooLong = regexp.MustCompile(`(\w[\w.\[\]]*): Invalid value: "([^"]+)": (must be no more than \d+ \w+)`)
	// amounts matches what a quota counts of a pod that it refuses: "requests.memory=4Gi".
	amounts = regexp.MustCompile(`\b(?:(requests|limits)\.)?(cpu|memory|ephemeral-storage)=`)
)

// refusal returns the cause of a refusal by its message: that of Refusal, or that the object's own name is too long for
// what its controller derives from it.
func (f *causeFinder) refusal(message string) Cause {
	c := Refusal(message)
	name := f.Text("metadata", "name")
	m := tooLong.FindStringSubmatch(message)
	if c.Type == "" && m != nil && strings.Contains(m[2], name) && 2*len(name) > len(m[2]) {
		return Cause{Type: NameTooLong, Weight: Specific, Detail: fmt.Sprintf("%s of %q %s", m[1], m[2], m[3])}
	}
	return c
}

// setByDefault adds to the cause of pods that a quota refuses what they ask for although the template does not. A quota
// refuses pods that do not set what it counts (Constraints of k8s.io/kubernetes/pkg/quota/v1/evaluator/core), and so
// admission has set it.
func (f *causeFinder) setByDefault(c *Cause) {
	requested, _, exceeds := strings.Cut(c.Detail, ", used: ")
	if c.Type != QuotaExceeded || !exceeds {
		return
	}
	for _, m := range amounts.FindAllStringSubmatch(requested, -1) {
		sort := cmp.Or(m[1], "requests")
		for _, container := range f.Maps("spec", "template", "spec", "containers") {
			resources := container.Sub("resources")
			if resources.At(sort, m[2]) == nil && resources.At("limits", m[2]) == nil {
				c.evident("spec.template.spec.containers[name="+container.Text("name")+"].resources."+sort+"."+m[2],
					"not set: admission sets it, as a LimitRange does by default", nil)
			}
		}
	}
}
