package replay_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// The objects of the benchmarks are as an API server writes them, with what a rollout fills in at their ends: NAME, UID,
// VERSION, NODE, and times in the order of what happens, T0 to T3.

const podMeta = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"NAME","generateName":"OWNER-","namespace":"shop",` +
	`"uid":"UID","resourceVersion":"VERSION","generation":1,"creationTimestamp":"T0"DELETION,` +
	`"labels":{"app":"web","app.kubernetes.io/part-of":"shop","pod-template-hash":"HASH"},"annotations":` +
	`{"prometheus.io/scrape":"true","kubectl.kubernetes.io/restartedAt":"2026-11-27T09:00:00Z"},"ownerReferences":[{` +
	`"apiVersion":"apps/v1","kind":"ReplicaSet","name":"OWNER","uid":"OWNERUID","controller":true,` +
	`"blockOwnerDeletion":true}],"managedFields":[{"manager":"kube-controller-manager","operation":"Update",` +
	`"apiVersion":"v1","time":"T0","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},` +
	`"f:kubectl.kubernetes.io/restartedAt":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},` +
	`"f:app":{},"f:app.kubernetes.io/part-of":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},` +
	`"k:{\"uid\":\"OWNERUID\"}":{}}},"f:spec":{"f:affinity":{".":{},"f:podAntiAffinity":{".":{},` +
	`"f:preferredDuringSchedulingIgnoredDuringExecution":{}}},"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:env":` +
	`{".":{},"k:{\"name\":\"DB\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},` +
	`"f:livenessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{},"f:scheme":{}},` +
	`"f:periodSeconds":{},"f:successThreshold":{},"f:timeoutSeconds":{}},"f:name":{},"f:ports":{".":{},` +
	`"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":` +
	`{".":{},"f:limits":{".":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},` +
	`"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},` +
	`"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}}STATUSFIELDS]}`

const podSpec = `,"spec":{"volumes":[{"name":"kube-api-access-SUFFIX","projected":{"sources":[{"serviceAccountToken":` +
	`{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":` +
	`"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":` +
	`"metadata.namespace"}}]}}],"defaultMode":420}}],"containers":[{"name":"web","image":"registry.example/shop/web:1.27",` +
	`"ports":[{"containerPort":8080,"protocol":"TCP"}],"env":[{"name":"DB","value":"postgres://db.shop:5432"}],` +
	`"resources":{"limits":{"memory":"256Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"name":` +
	`"kube-api-access-SUFFIX","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],` +
	`"livenessProbe":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,` +
	`"successThreshold":1,"failureThreshold":3},"terminationMessagePath":"/dev/termination-log",` +
	`"terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always",` +
	`"terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":` +
	`"default"NODENAME,"securityContext":{},"affinity":{"podAntiAffinity":` +
	`{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"podAffinityTerm":{"labelSelector":{"matchLabels":` +
	`{"app":"web"}},"topologyKey":"kubernetes.io/hostname"}}]}},"schedulerName":"default-scheduler","tolerations":[{` +
	`"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":` +
	`"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,` +
	`"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}`

const kubeletFields = `,{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"TNOW","fieldsType":` +
	`"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},` +
	`"f:lastTransitionTime":{},"f:observedGeneration":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Initialized\"}":{".":` +
	`{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:observedGeneration":{},"f:status":{},"f:type":{}},` +
	`"k:{\"type\":\"PodReadyToStartContainers\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},` +
	`"f:observedGeneration":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},` +
	`"f:lastTransitionTime":{},"f:observedGeneration":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},` +
	`"f:hostIP":{},"f:hostIPs":{},"f:observedGeneration":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},` +
	`"k:{\"ip\":\"10.244.IP\"}":{".":{},"f:ip":{}}},"f:startTime":{}}},"subresource":"status"}`

func condition(name, status, at string) string {
	return fmt.Sprintf(`{"type":%q,"observedGeneration":1,"status":%q,"lastProbeTime":null,"lastTransitionTime":%q}`,
		name, status, at)
}

// podStatus returns the status of a pod, and what it does to the templates above, in the phases of its life.
func podStatus(phase int) (status string, fields string, node string, deletion string) {
	container := func(state, ready string) string {
		return `"containerStatuses":[{"name":"web","state":` + state + `,"lastState":{},"ready":` + ready +
			`,"restartCount":0,"image":"registry.example/shop/web:1.27","imageID":"IMAGE","started":` + ready +
			`,"allocatedResources":{"cpu":"100m","memory":"128Mi"},"resources":{"limits":{"memory":"256Mi"},"requests":` +
			`{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"name":"kube-api-access-SUFFIX","mountPath":` +
			`"/var/run/secrets/kubernetes.io/serviceaccount","readOnly":true,"recursiveReadOnly":"Disabled"}],"user":` +
			`{"linux":{"uid":0,"gid":0,"supplementalGroups":[0]}}}],"qosClass":"Burstable"}}`
	}
	conditions := func(started, ready, at string) string {
		return `"conditions":[` + condition("PodReadyToStartContainers", started, at) + "," +
			condition("Initialized", "True", "T1") + "," + condition("Ready", ready, at) + "," +
			condition("ContainersReady", ready, at) + "," + condition("PodScheduled", "True", "T1") + `],` +
			`"hostIP":"10.0.0.17","hostIPs":[{"ip":"10.0.0.17"}],`
	}
	ip := `"podIP":"10.244.IP","podIPs":[{"ip":"10.244.IP"}],`
	name := `,"nodeName":"NODE"`
	switch phase {
	case 0:
		return `,"status":{"observedGeneration":1,"phase":"Pending","qosClass":"Burstable"}}`, "", "", ""
	case 1:
		return `,"status":{"observedGeneration":1,"phase":"Pending","conditions":[` + condition("PodScheduled", "True", "T1") +
			`],"qosClass":"Burstable"}}`, "", name, ""
	case 2:
		return `,"status":{"observedGeneration":1,"phase":"Pending",` + conditions("False", "False", "T1") +
			`"startTime":"T1",` + container(`{"waiting":{"reason":"ContainerCreating"}}`, "false"), kubeletFields, name, ""
	case 3, 4:
		ready := map[int]string{3: "False", 4: "True"}[phase]
		return `,"status":{"observedGeneration":1,"phase":"Running",` + conditions("True", ready, "T2") + ip +
			`"startTime":"T1",` + container(`{"running":{"startedAt":"T2"}}`, strings.ToLower(ready)), kubeletFields, name, ""
	default:
		return `,"status":{"observedGeneration":1,"phase":"Running",` + conditions("True", "False", "T3") + ip +
				`"startTime":"T1",` + container(`{"terminated":{"exitCode":0,"reason":"Completed","startedAt":"T2",`+
				`"finishedAt":"T3","containerID":"CONTAINER"}}`, "false"), kubeletFields, name,
			`,"deletionTimestamp":"T3","deletionGracePeriodSeconds":30`
	}
}

const ownerStatus = `{"kind":"KIND","apiVersion":"apps/v1","metadata":{"name":"OWNER","namespace":"shop","uid":` +
	`"OWNERUID","resourceVersion":"VERSION","generation":2,"creationTimestamp":"2026-11-27T09:00:00Z","labels":{"app":` +
	`"web"},"annotations":{"deployment.kubernetes.io/revision":"7","kubectl.kubernetes.io/last-applied-configuration":` +
	`"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"annotations\":{},\"labels\":{\"app\":\"web\"},` +
	`\"name\":\"web\",\"namespace\":\"shop\"},\"spec\":{\"replicas\":20,\"selector\":{\"matchLabels\":{\"app\":\"web\"}},` +
	`\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{\"image\":\"web:1.27\",` +
	`\"name\":\"web\"}]}}}}\n"},"managedFields":[{"manager":"kubectl-client-side-apply","operation":"Update",` +
	`"apiVersion":"apps/v1","time":"2026-11-27T09:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":` +
	`{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}},"f:labels":{".":{},"f:app":{}}},` +
	`"f:spec":{"f:progressDeadlineSeconds":{},"f:replicas":{},"f:revisionHistoryLimit":{},"f:selector":{},"f:strategy":` +
	`{"f:rollingUpdate":{".":{},"f:maxSurge":{},"f:maxUnavailable":{}},"f:type":{}},"f:template":{"f:metadata":` +
	`{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},` +
	`"f:imagePullPolicy":{},"f:name":{},"f:resources":{}}}}}}}},{"manager":"kube-controller-manager","operation":` +
	`"Update","apiVersion":"apps/v1","time":"TNOW","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":` +
	`{"f:deployment.kubernetes.io/revision":{}}},"f:status":{"f:availableReplicas":{},"f:conditions":{".":{},` +
	`"k:{\"type\":\"Available\"}":{".":{},"f:lastTransitionTime":{},"f:lastUpdateTime":{},"f:message":{},"f:reason":{},` +
	`"f:status":{},"f:type":{}}},"f:observedGeneration":{},"f:readyReplicas":{},"f:replicas":{},"f:updatedReplicas":` +
	`{}}},"subresource":"status"}]},"spec":{"replicas":20,"selector":{"matchLabels":{"app":"web"}},"template":` +
	`{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"registry.example/shop/web:1.27",` +
	`"resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",` +
	`"imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":` +
	`"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"}}},"status":{"observedGeneration":2,` +
	`"replicas":N1,"updatedReplicas":N1,"readyReplicas":N2,"availableReplicas":N2,"conditions":[{"type":"Progressing",` +
	`"status":"True","lastUpdateTime":"TNOW","lastTransitionTime":"2026-11-27T09:00:00Z","reason":"ReplicaSetUpdated",` +
	`"message":"ReplicaSet \"OWNER-HASH\" is progressing."}]}}`

// cluster makes the events of deployments that are rolled out all the time.
type cluster struct {
	rng     *rand.Rand
	now     time.Time
	step    time.Duration
	version int
	owners  [][]*benchPod
	names   []map[string]string // what replaces the words in objects, by owner
	phases  []string
	queue   []*replay.Record
	stage   int
}

type benchPod struct {
	words map[string]string
	phase int
}

// newCluster returns a cluster with so many deployments of 20 pods, and an event every step.
func newCluster(deployments int, step time.Duration) *cluster {
	c := &cluster{rng: rand.New(rand.NewSource(1)), now: start(), step: step, version: 4_000_000}
	for phase := range 7 {
		status, fields, node, deletion := podStatus(phase)
		meta := strings.NewReplacer("STATUSFIELDS", fields, "DELETION", deletion).Replace(podMeta)
		c.phases = append(c.phases, meta+strings.ReplaceAll(podSpec, "NODENAME", node)+status)
	}
	for range deployments {
		hash := c.suffix(10)
		name := "web-" + c.suffix(6)
		c.names = append(c.names, map[string]string{
			"OWNERUID": c.uid(), "OWNER": name + "-" + hash, "HASH": hash, "DEPLOYMENT": name, "DEPLOYMENTUID": c.uid(),
		})
		c.owners = append(c.owners, make([]*benchPod, 20))
	}
	for i, kind := range []string{"Pod", "ReplicaSet", "Deployment"} {
		group := "apps"
		if kind == "Pod" {
			group = ""
		}
		c.queue = append(c.queue, &replay.Record{Type: replay.TypeStream, Stream: i + 1, Time: c.now, NewStream: &replay.Stream{
			Number: i + 1, Group: group, Version: "v1", Kind: kind, Resource: strings.ToLower(kind) + "s", Namespaced: true,
		}})
	}
	return c
}

func (c *cluster) suffix(n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = "bcdfghjklmnpqrstvwxz2456789"[c.rng.Intn(27)]
	}
	return string(out)
}

func (c *cluster) hex(n int) string {
	out := make([]byte, n/2)
	c.rng.Read(out)
	return hex.EncodeToString(out)
}

func (c *cluster) uid() string {
	return fmt.Sprintf("%s-%s-%s-%s-%s", c.hex(8), c.hex(4), c.hex(4), c.hex(4), c.hex(12))
}

// next returns the next event.
func (c *cluster) next() *replay.Record {
	for len(c.queue) == 0 {
		i := c.rng.Intn(len(c.owners))
		c.pod(i, c.rng.Intn(20))
		if c.stage++; c.stage%3 == 0 {
			c.owner(i, 2, "ReplicaSet")
		}
		if c.stage%5 == 0 {
			c.owner(i, 3, "Deployment")
		}
	}
	r := c.queue[0]
	c.queue = c.queue[1:]
	c.now = c.now.Add(c.step)
	r.Time = c.now
	return r
}

func (c *cluster) words(words map[string]string) (version string, pairs []string) {
	c.version += 1 + c.rng.Intn(3)
	version = fmt.Sprint(c.version)
	for _, k := range []string{"OWNERUID", "OWNER", "HASH", "NAME", "SUFFIX", "UID", "NODE", "IP", "IMAGE", "CONTAINER",
		"T0", "T1", "T2", "T3", "N1", "N2", "KIND"} {
		if v, ok := words[k]; ok {
			pairs = append(pairs, k, v)
		}
	}
	return version, append(pairs, "VERSION", version, "TNOW", c.now.Format(time.RFC3339))
}

// pod moves a pod on by one phase.
func (c *cluster) pod(owner, i int) {
	names := c.names[owner]
	p := c.owners[owner][i]
	now := c.now.Format(time.RFC3339)
	typ := replay.TypeModified
	if p == nil {
		suffix := c.suffix(5)
		p = &benchPod{words: map[string]string{
			"OWNERUID": names["OWNERUID"], "OWNER": names["OWNER"], "HASH": names["HASH"], "NAME": names["OWNER"] + "-" + suffix,
			"SUFFIX": suffix, "UID": c.uid(), "NODE": fmt.Sprintf("node-%d", c.rng.Intn(50)),
			"IP": fmt.Sprintf("%d.%d", c.rng.Intn(50), c.rng.Intn(256)), "IMAGE": "registry.example/shop/web@sha256:0ac1",
			"CONTAINER": "containerd://" + c.hex(64), "T0": now,
		}}
		c.owners[owner][i] = p
		typ = replay.TypeAdded
	} else {
		p.phase++
		switch p.phase {
		case 1, 2, 3:
			p.words[fmt.Sprintf("T%d", (p.phase+1)/2)] = now
		case 5:
			p.words["T3"] = now
		case 6:
			typ = replay.TypeDeleted
			c.owners[owner][i] = nil
		}
	}
	version, pairs := c.words(p.words)
	c.queue = append(c.queue, &replay.Record{
		Type: typ, Stream: 1, Namespace: "shop", Name: p.words["NAME"], UID: p.words["UID"], ResourceVersion: version,
		Object: []byte(strings.NewReplacer(pairs...).Replace(c.phases[p.phase])),
	})
}

// owner changes the status of a replica set or a deployment.
func (c *cluster) owner(i, stream int, kind string) {
	names := c.names[i]
	name, uid := names["OWNER"], names["OWNERUID"]
	if stream == 3 {
		name, uid = names["DEPLOYMENT"], names["DEPLOYMENTUID"]
	}
	version, pairs := c.words(map[string]string{
		"OWNER": name, "OWNERUID": uid, "HASH": names["HASH"], "KIND": kind,
		"N1": fmt.Sprint(15 + c.rng.Intn(6)), "N2": fmt.Sprint(10 + c.rng.Intn(6)),
	})
	c.queue = append(c.queue, &replay.Record{
		Type: replay.TypeModified, Stream: stream, Namespace: "shop", Name: name, UID: uid, ResourceVersion: version,
		Object: []byte(strings.NewReplacer(pairs...).Replace(ownerStatus)),
	})
}

// kubectlSize returns the size of an event as kubectl get -w -o json prints it, with the managed fields.
func kubectlSize(b *testing.B, r *replay.Record) int {
	b.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, r.Object, "", "    "); err != nil {
		b.Fatal(err)
	}
	return out.Len() + 1
}

// BenchmarkWrite writes 5,000 events a second of the recording's time, and flushes every half second of it.
func BenchmarkWrite(b *testing.B) {
	c := newCluster(50, 200*time.Microsecond)
	const round = 20_000
	records := make([]*replay.Record, round)
	for i := range records {
		records[i] = c.next()
	}
	var kubectl, raw int
	for _, r := range records {
		if r.Type.HasObject() {
			kubectl += kubectlSize(b, r)
			raw += len(r.Object)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	events, written := 0, int64(0)
	for range b.N {
		w, err := replay.NewWriter(io.Discard, header(), replay.WriterOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for i, r := range records {
			if err := w.Write(r); err != nil {
				b.Fatal(err)
			}
			if i%2500 == 2499 {
				if err := w.Flush(); err != nil {
					b.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		events += round
		written = w.Stats().Written
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(events), "µs/event")
	b.ReportMetric(float64(written)/round, "B/event")
	b.ReportMetric(float64(raw)/float64(written), "smaller-than-raw")
	b.ReportMetric(float64(kubectl)/float64(written), "smaller-than-kubectl")
}

var hourFile = flag.String("hour", "", "keep the recording of BenchmarkHour in this file")

// hour writes a recording of an hour with a million events, which is flushed every half second.
func hour(b *testing.B) string {
	b.Helper()
	const events = 1_000_000
	path := *hourFile
	if path == "" {
		path = filepath.Join(b.TempDir(), "hour")
	}
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	w, err := replay.NewWriter(file, header(), replay.WriterOptions{})
	if err != nil {
		b.Fatal(err)
	}
	c := newCluster(50, time.Hour/events)
	for i := range events {
		if err := w.Write(c.next()); err != nil {
			b.Fatal(err)
		}
		if i%139 == 0 {
			if err := w.Flush(); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	s := w.Stats()
	b.Logf("%d records: %d bytes of %d", s.Records, s.Written, s.Uncompressed)
	return path
}

// BenchmarkHour reads a recording of an hour with a million events, and seeks in it, opening the file each time.
func BenchmarkHour(b *testing.B) {
	path := hour(b)
	open := func(b *testing.B, o replay.ReaderOptions) *replay.File {
		b.Helper()
		file, err := replay.OpenFile(path, o)
		if err != nil {
			b.Fatal(err)
		}
		return file
	}
	b.Run("read", func(b *testing.B) {
		records := 0
		for range b.N {
			file := open(b, replay.ReaderOptions{})
			for {
				if _, err := file.Next(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					b.Fatal(err)
				}
				records++
			}
			file.Close()
		}
		b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
	})
	for _, test := range []struct {
		name string
		o    replay.ReaderOptions
	}{{"seek", replay.ReaderOptions{}}, {"seek without index", replay.ReaderOptions{NoIndex: true}}} {
		b.Run(test.name, func(b *testing.B) {
			rng := rand.New(rand.NewSource(1))
			worst := time.Duration(0)
			for range b.N {
				begun := time.Now()
				file := open(b, test.o)
				at := start().Add(time.Duration(rng.Int63n(int64(time.Hour))))
				if _, err := file.Seek(replay.Moment{Time: at}); err != nil {
					b.Fatal(err)
				}
				file.Close()
				worst = max(worst, time.Since(begun))
			}
			b.ReportMetric(float64(worst.Milliseconds()), "ms-worst")
		})
	}
}
