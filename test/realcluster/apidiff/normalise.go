package apidiff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// normaliser replaces what two servers cannot have in common by words, over all answers of one side to one file. What
// the file itself contains is left alone.
//
// Identifiers, resource versions of objects, names that the server completed, and addresses and ports that it handed
// out are called after the step and the path where they were first seen, so that it still shows when one of them
// changes, or does not.
type normaliser struct {
	literal   string         // the file's text
	addresses *regexp.Regexp // of the server: its host:port, and its port on any other host
	port      string         // of the server, "" if the host has none
	now       time.Time

	words map[string]string // by value; applied to whole strings and to parts of strings
	order []string          // of words, longest first
	// versions are words for the resource versions of objects. They are numbers, so they are applied only where one is
	// expected.
	versions map[string]string
	ports    map[string]string // likewise
	columns  []any             // of the Table that was seen last: of a stream of Tables only the first has them
}

func newNormaliser(literal, host string) *normaliser {
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		port = ""
	}
	return &normaliser{
		literal:   literal,
		addresses: addressPattern(host, port),
		port:      port,
		now:       time.Now(),
		words:     map[string]string{},
		versions:  map[string]string{},
		ports:     map[string]string{},
	}
}

// addressPattern matches host, and its port on another address: servers advertise one that they do not listen on.
func addressPattern(host, port string) *regexp.Regexp {
	pattern := regexp.QuoteMeta(host)
	if port != "" {
		pattern += `|\b\d+\.\d+\.\d+\.\d+:` + port + `\b`
	}
	return regexp.MustCompile(pattern)
}

var (
	uidPattern  = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	timePattern = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	jwtPattern  = regexp.MustCompile(`\beyJ[\w-]+\.[\w-]+\.[\w-]+`)
	// versionText are resource versions in messages.
	versionText = regexp.MustCompile(`(resource ?[vV]ersion: |current: |precondition \(|in record \()\d+( \(\d+\))?`)
	// versionInJSON is the resource version of an object in a message that quotes it.
	versionInJSON = regexp.MustCompile(`(resourceVersion\\+":\\+")\d+`)
	numberText    = regexp.MustCompile(`\d+`)
	wholeNumber   = regexp.MustCompile(`^[1-9]\d*$`)
	// portText is a message about a node port.
	portText   = regexp.MustCompile(`\b\d+: provided port is`)
	agePattern = regexp.MustCompile(`^(\d+[ydhms])+$`)
)

// tokenVolume is the beginning of the name that ServiceAccount admission gives a volume; five random characters follow.
const tokenVolume = "kube-api-access-"

// nearby is how far from the present a time may be to count as one that the server made.
const nearby = 48 * time.Hour

// learn finds the values of the answer that get words.
func (n *normaliser) learn(step string, answer Answer) {
	n.learnTree(step, "", map[string]any(answer))
	n.order = slices.SortedFunc(maps.Keys(n.words), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
}

func (n *normaliser) learnTree(step, path string, node any) {
	switch node := node.(type) {
	case map[string]any:
		n.learnObject(step, path, node)
		for _, key := range slices.Sorted(maps.Keys(node)) {
			n.learnTree(step, path+"."+key, node[key])
		}
	case []any:
		for i, item := range node {
			n.learnTree(step, path+"["+elementWord(item, i)+"]", item)
		}
	case string:
		for _, uid := range uidPattern.FindAllString(node, -1) {
			n.name(uid, fmt.Sprintf("<uid %s %s>", step, path))
		}
	}
}

// elementWord names an element of a list in the path of a word: by its own name, unless a server made that up, and by
// its position i otherwise.
func elementWord(item any, i int) string {
	object, _ := item.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if name == "" || metadata["generateName"] != nil {
		return strconv.Itoa(i)
	}
	return name
}

// learnObject looks at the fields whose values a server makes up.
func (n *normaliser) learnObject(step, path string, node map[string]any) {
	version, ok := node["resourceVersion"].(string)
	if ok && node["uid"] != nil && !n.isLiteral(strconv.Quote(version)) {
		setOnce(n.versions, version, fmt.Sprintf("<version %s %s>", step, path))
	}
	name, _ := node["name"].(string)
	if strings.HasPrefix(name, tokenVolume) {
		n.name(name, fmt.Sprintf("%s<name %s>", tokenVolume, step))
	}
	prefix, _ := node["generateName"].(string)
	if prefix != "" && name != prefix && strings.HasPrefix(name, prefix) {
		n.name(name, fmt.Sprintf("%s<name %s>", prefix, step))
	}
	ips, _ := node["clusterIPs"].([]any)
	for i, value := range append([]any{node["clusterIP"]}, ips...) {
		if ip, ok := value.(string); ok && ip != "" && ip != "None" {
			n.name(ip, fmt.Sprintf("<ip %s %s.clusterIPs[%d]>", step, path, max(0, i-1)))
		}
	}
	for _, key := range []string{"nodePort", "healthCheckNodePort"} {
		if port, ok := node[key].(json.Number); ok && !n.isLiteral(port.String()) {
			setOnce(n.ports, port.String(), fmt.Sprintf("<port %s %s>", step, path))
		}
	}
}

// name gives value a word, unless it has one or stands in the file.
func (n *normaliser) name(value, word string) {
	if value != "" && !n.isLiteral(value) {
		setOnce(n.words, value, word)
	}
}

// isLiteral reports whether the file has text in it.
func (n *normaliser) isLiteral(text string) bool { return strings.Contains(n.literal, text) }

func setOnce(words map[string]string, value, word string) {
	if _, ok := words[value]; !ok {
		words[value] = word
	}
}

// apply is a copy of tree with words in place of values.
func (n *normaliser) apply(node any) any {
	switch node := node.(type) {
	case map[string]any:
		n.forgetAges(node)
		sortManagers(node)
		sortConflicts(node)
		sortRules(node)
		applied := make(map[string]any, len(node))
		for key, value := range node {
			applied[n.text(key)] = n.field(node, key, value)
		}
		return applied
	case []any:
		applied := make([]any, len(node))
		for i, item := range node {
			applied[i] = n.apply(item)
		}
		return applied
	case string:
		return n.text(node)
	}
	return node
}

// field applies what depends on the field's name.
func (n *normaliser) field(parent map[string]any, key string, value any) any {
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	switch {
	case key == "resourceVersion" && isText && text != "" && !n.isLiteral(strconv.Quote(text)):
		if word, ok := n.versions[text]; ok && parent["uid"] != nil {
			return word
		}
		return wholeNumber.ReplaceAllString(text, "<version>")
	case key == "continue" && isText && text != "":
		return "<continue>"
	case key == "retryAfterSeconds" && slices.Contains([]json.Number{"1", "2", "3"}, number):
		return "<1 to 3>" // where nothing caches a kind, kube-apiserver draws lots
	case isNumber && n.ports[number.String()] != "" && strings.HasSuffix(strings.ToLower(key), "nodeport"):
		return n.ports[number.String()]
	case isNumber && number.String() == n.port && (key == "port" || key == "targetPort"):
		return "<server port>"
	}
	return n.apply(value)
}
