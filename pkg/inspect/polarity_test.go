package inspect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPolarity(t *testing.T) {
	tests := []struct {
		reason, group, kind, condition string
		want                           Polarity
		guessed                        bool
	}{
		{"of the table of kinds", "", "Node", "MemoryPressure", Negative, false},
		{"of the table of kinds, neutral", "", "Node", "Drained", Neutral, false},
		{"Progressing is good of a Deployment", "apps", "Deployment", "Progressing", Positive, false},
		{"and only what is going on elsewhere", "example.com", "Cache", "Progressing", Neutral, true},
		{"a family's", "cert-manager.io", "Certificate", "Issuing", Neutral, false},
		{"a family's subdomain", "acme.cert-manager.io", "Order", "InvalidRequest", Negative, false},
		{"not a domain that only ends so", "notcert-manager.io", "Order", "InvalidRequest", Negative, true},
		{"a word", "example.com", "Cache", "QuorumLost", Negative, true},
		{"a word within", "example.com", "Cache", "NodesUnreachable", Negative, true},
		{"what it is not", "example.com", "Cache", "NotReady", Negative, true},
		{"a word that only begins so", "example.com", "Cache", "NotificationsSent", Positive, true},
		{"a word denied", "example.com", "Cache", "NoErrors", Positive, true},
		{"a domain in front tells nothing", "", "Pod", "failover.example.com/Attached", Positive, true},
		{"small letters", "example.com", "Cache", "backup-failed", Negative, true},
		{"what is going on", "example.com", "Cache", "Resharding", Neutral, true},
		{"what ends alike and is good", "example.com", "Cache", "Running", Positive, true},
		{"letters that stand for words", "example.com", "Cache", "TLSReady", Positive, true},
		{"nothing known: True is good, mostly", "example.com", "Cache", "Joined", Positive, true},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, guessed := DefaultPolarities().lookup(tt.group, tt.kind, tt.condition)
			if got != tt.want || guessed != tt.guessed {
				t.Errorf("%s of %s is %s (guessed: %t), want %s (%t)", tt.condition, tt.kind, got, guessed, tt.want, tt.guessed)
			}
		})
	}
}

func TestReadPolarities(t *testing.T) {
	p, err := ReadPolarities(strings.NewReader(`
polarities:
- {type: "*Throttled", polarity: neutral}
- {group: "*.example.com", kind: Database, type: Throttled, polarity: Negative}
- {group: "", kind: Node, type: Ready, polarity: negative} # if a user wants it
- {group: db.example.com, type: Joined, polarity: positive}
`))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		reason, group, kind, condition string
		want                           Polarity
	}{
		{"any group and kind", "other.org", "Cache", "WriteThrottled", Neutral},
		{"the last entry that matches", "db.example.com", "Database", "Throttled", Negative},
		{"its group is another", "other.org", "Database", "Throttled", Neutral},
		{"a table is overridden", "", "Node", "Ready", Negative},
		{"the core group is not any group", "example.com", "Node", "Ready", Positive},
		{"what no entry has is as ever", "", "Node", "MemoryPressure", Negative},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if got, _ := p.lookup(tt.group, tt.kind, tt.condition); got != tt.want {
				t.Errorf("%s of %s is %s, want %s", tt.condition, tt.kind, got, tt.want)
			}
		})
	}
	if _, guessed := p.lookup("db.example.com", "X", "Joined"); guessed {
		t.Error("an entry of the file is not guessed")
	}
}

func TestReadPolaritiesErrors(t *testing.T) {
	tests := []struct{ reason, file, want string }{
		{"a key that there is not", "polarities:\n- {type: A, polarity: positive, kinds: X}", `unknown field "kinds"`},
		{"a key at the top", "polarity: []", `unknown field "polarity"`},
		{"a key twice", "polarities:\n- type: A\n  type: B\n  polarity: positive", `line 3: key "type" already set in map`},
		{"no YAML", "polarities: [", "line 1"},
		{"no type", "polarities:\n- {type: A, polarity: positive}\n- {polarity: positive}", "entry 2: type: must name a condition, or be a pattern"},
		{"no polarity", "polarities:\n- {type: A}", `entry 1: polarity: must be positive, negative or neutral, not ""`},
		{"a wrong one", "polarities:\n- {type: A, polarity: good}", `entry 1: polarity: must be positive, negative or neutral, not "good"`},
		{"too many stars", "polarities:\n- {type: 'A*B*', polarity: positive}", `entry 1: type: "A*B*" has more than one *`},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			_, err := ReadPolarities(strings.NewReader(tt.file))
			if err == nil || !strings.HasPrefix(err.Error(), "reading the polarities: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	if p, err := ReadPolarities(strings.NewReader("")); err != nil || len(p.rules) != 0 {
		t.Errorf("an empty file gives %v, %v", p, err)
	}
}

// TestPolaritiesOfUsersChangeTheVerdict: a file reaches the status, not only the conditions.
func TestPolaritiesOfUsersChangeTheVerdict(t *testing.T) {
	for _, tt := range []struct {
		condition, polarity string
		without, with       string
		reason              string
	}{
		{"Throttled", "neutral", Degraded, Current, "bad by the name of the condition"},
		{"Stalled", "positive", Failed, Current, "bad for kstatus, in any kind"},
		{"Reconciling", "positive", InProgress, Current, "kstatus takes it for a change"},
	} {
		obj := fromYAML(t, `{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: [{type: `+tt.condition+`, status: "True"}]}}`)
		p, err := ReadPolarities(strings.NewReader("polarities: [{type: " + tt.condition + ", polarity: " + tt.polarity + "}]"))
		if err != nil {
			t.Fatal(err)
		}
		words := []string{Inspect(obj, nil).Status.Status, Inspect(obj, &Options{Polarities: p}).Status.Status}
		if diff := cmp.Diff([]string{tt.without, tt.with}, words); diff != "" {
			t.Errorf("%s=True without and with the file: %s (-want +got):\n%s", tt.condition, tt.reason, diff)
		}
	}
}

// TestReadyMayBeBad: if a user makes Ready negative, an object that is not ready is Current.
func TestReadyMayBeBad(t *testing.T) {
	p, err := ReadPolarities(strings.NewReader("polarities: [{type: Ready, polarity: negative}]"))
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[string]string{"True": Degraded, "False": Current} {
		obj := fromYAML(t, `{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: [{type: Ready, status: "`+status+`"}]}}`)
		if got := Inspect(obj, &Options{Polarities: p}); got.Status.Status != want {
			t.Errorf("Ready=%s is %s, want %s", status, got.Status.Status, want)
		}
	}
}
