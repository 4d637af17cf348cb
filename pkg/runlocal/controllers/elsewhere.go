package controllers

import "strings"

// Elsewhere is work that people look for among the controllers of kube-controller-manager, and that other programs do.
type Elsewhere struct {
	// Name is what it is about, such as a kind.
	Name string
	// Others are other words for it, in lower case.
	Others []string
	// By is who does it, and what the sandbox has in its place.
	By string
}

// elsewhere are sorted by Name.
var elsewhere = []Elsewhere{
	{
		"CustomResourceDefinition", []string{"crd", "crds"},
		"kube-apiserver itself, also in the sandbox; the objects are their operator's",
	},
	{"DNS", []string{"coredns", "kube-dns"}, "CoreDNS, or another DNS server of the cluster"},
	{
		"Gateway", []string{"gateways", "gatewayclass", "httproute", "httproutes", "gateway-api"},
		"an implementation of the Gateway API, which must be installed; Kubernetes has none",
	},
	{
		"Ingress", []string{"ingresses", "ing", "ingressclass", "ingress-controller"},
		"an ingress controller, which must be installed; Kubernetes has none",
	},
	{
		"LoadBalancer",
		[]string{"loadbalancers", "service", "services", "svc", "service-lb", "cloud-controller-manager"},
		"cloud-controller-manager, or a program such as MetalLB: the addresses of Services of that type",
	},
	{"NetworkPolicy", []string{"networkpolicies", "netpol"}, "the network plugin; some do not enforce them"},
	{
		"Node", []string{"nodes", "cluster-autoscaler", "karpenter"},
		"kubelet, and an autoscaler of nodes if there is one; the sandbox simulates nodes",
	},
	{"Pod", []string{"pods", "po", "kubelet"}, "kubelet runs them; the sandbox simulates it"},
	{
		"PodMetrics", []string{"metrics", "metrics-server", "nodemetrics"},
		"metrics-server, or an adapter for custom metrics; the sandbox has simulated ones",
	},
	{
		"Proxy", []string{"kube-proxy", "proxies"},
		"kube-proxy, or the network plugin: traffic to what EndpointSlices list",
	},
	{
		"Scheduler", []string{"kube-scheduler", "scheduling", "preemption"},
		"kube-scheduler; the sandbox has a simulated one",
	},
	{"VerticalPodAutoscaler", []string{"vpa", "vpas"}, "the Vertical Pod Autoscaler, which must be installed"},
	{
		"Volume", []string{"provisioner", "csi", "csidriver", "storageclass", "volumesnapshot", "volumesnapshots"},
		"the CSI driver and its sidecars provision, resize and snapshot; the sandbox simulates a provisioner",
	},
}

// AllElsewhere returns the work that other programs do, sorted by name. The caller may not change it.
func AllElsewhere() []Elsewhere { return elsewhere }

// FindElsewhere returns the work that a word names, in any case, also with "-controller" or "controller" at its end.
// It returns false if there is none.
func FindElsewhere(word string) (Elsewhere, bool) {
	word = strings.ToLower(word)
	short := strings.TrimSuffix(strings.TrimSuffix(word, "controller"), "-")
	for _, e := range elsewhere {
		for _, name := range append([]string{strings.ToLower(e.Name)}, e.Others...) {
			if name == word || name == short {
				return e, true
			}
		}
	}
	return Elsewhere{}, false
}
