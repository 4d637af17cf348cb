package render

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// treeLines is what Tree writes, as lines.
func treeLines(t *testing.T, items []*TreeItem, o TreeOptions) []string {
	t.Helper()
	var out bytes.Buffer
	if err := Tree(&out, items, o); err != nil {
		t.Fatal(err)
	}
	return splitLines(out.String())
}

// rollout is the tree of a Deployment of which a pod cannot start.
func rollout() *TreeItem {
	return &TreeItem{
		Label: "Deployment/web", Namespace: "shop", Ready: "2/3", Status: "InProgress", Tone: ToneChange, Generation: "3/4", Drift: ToneChange, Age: "12m",
		Reason: "2 of 3 updated pods available: ImagePullBackOff on web-7d4b9c-x1",
		Children: []*TreeItem{
			{
				Label: "ReplicaSet/web-7d4b9c", Namespace: "shop", Asked: true, Ready: "2/3", Status: "InProgress", Tone: ToneChange, Generation: "2", Age: "3m",
				Reason: "ImagePullBackOff on web-7d4b9c-x1",
				Children: []*TreeItem{
					{Label: "Pod/web-7d4b9c-x1", Namespace: "shop", Ready: "0/1", Status: "Failed", Tone: ToneTrouble, Reason: "ImagePullBackOff: nginx:nope", Generation: "1", Age: "3m"},
					{Label: "Pod (2)", Namespace: "shop", Ready: "2/2", Status: "Current", Generation: "1", Age: "3m"},
				},
			},
			{Label: "ReplicaSet (10)", Namespace: "shop", Ready: "0/0", Status: "Current", Reason: "scaled to 0"},
			{Label: "Service/web", Namespace: "shop", Dotted: true, Note: "selects it", Status: "Current"},
		},
	}
}

func TestTree(t *testing.T) {
	for _, tt := range []struct {
		name   string
		items  []*TreeItem
		o      TreeOptions
		want   string
		reason string
	}{
		{"nothing", nil, TreeOptions{Namespaces: true}, "", "no items, no header"},
		{"rollout", []*TreeItem{rollout()}, TreeOptions{}, `
NAME                         READY   STATUS       REASON                                                             GEN   AGE
Deployment/web               2/3     InProgress   2 of 3 updated pods available: ImagePullBackOff on web-7d4b9c-x1   3/4   12m
├─ReplicaSet/web-7d4b9c  ◀   2/3     InProgress   ImagePullBackOff on web-7d4b9c-x1                                  2     3m
│ ├─Pod/web-7d4b9c-x1        0/1     Failed       ImagePullBackOff: nginx:nope                                       1     3m
│ └─Pod (2)                  2/2     Current                                                                         1     3m
├─ReplicaSet (10)            0/0     Current      scaled to 0                                                        -     -
└┄Service/web  selects it    -       Current                                                                         -     -
`, "guides, the mark, the dotted tie; dashes where there is nothing to say, but not in prose"},
		{"ASCII", []*TreeItem{rollout()}, TreeOptions{ASCII: true, Width: 100}, strings.ReplaceAll(`
NAME                              READY  STATUS      REASON                                 GEN  AGE
Deployment/web                    2/3    InProgress  2 of 3 updated ...ImagePullBackOff...  3/4  12m
|-ReplicaSet/web-7d4b9c  (asked)  2/3    InProgress  ImagePullBackOff on web-7d4b9c-x1      2    3m
| |-Pod/web-7d4b9c-x1             0/1    Failed      ImagePullBackOff: nginx:nope           1    3m
| \-Pod (2)                       2/2    Current                                            1    3m
|-ReplicaSet (10)                 0/0    Current     scaled to 0                            -    -
\.Service/web  selects it         -      Current                                            -    -
`, "\\", "`"), "not a letter beyond ASCII, not even where a reason is cut"},
		{"90 cells", []*TreeItem{rollout()}, TreeOptions{Width: 90}, `
NAME                        READY  STATUS      REASON                             GEN  AGE
Deployment/web              2/3    InProgress  2 of 3 updated …ImagePullBackOff…  3/4  12m
├─ReplicaSet/web-7d4b9c  ◀  2/3    InProgress  ImagePullBackOff on web-7d4b9c-x1  2    3m
│ ├─Pod/web-7d4b9c-x1       0/1    Failed      ImagePullBackOff: nginx:nope       1    3m
│ └─Pod (2)                 2/2    Current                                        1    3m
├─ReplicaSet (10)           0/0    Current     scaled to 0                        -    -
└┄Service/web  selects it   -      Current                                        -    -
`, "columns move together, and reasons alone are cut"},
		{"80 cells", []*TreeItem{rollout()}, TreeOptions{Width: 80}, `
NAME                        READY  STATUS      REASON                        GEN
Deployment/web              2/3    InProgress  2 of 3 update…ImagePullBack…  3/4
├─ReplicaSet/web-7d4b9c  ◀  2/3    InProgress  ImagePullBackOff on web-7d4…  2
│ ├─Pod/web-7d4b9c-x1       0/1    Failed      ImagePullBackOff: nginx:nope  1
│ └─Pod (2)                 2/2    Current                                   1
├─ReplicaSet (10)           0/0    Current     scaled to 0                   -
└┄Service/web  selects it   -      Current                                   -
`, "columns go that say least, before a reason is too short to be a good one"},
		{"60 cells", []*TreeItem{rollout()}, TreeOptions{Width: 60}, `
NAME                      STATUS      REASON
Deployment/web            InProgress  2 of 3 upd…ImagePullB…
├─ReplicaSe…eb-7d4b9c  ◀  InProgress  ImagePullBackOff on w…
│ ├─Pod/web-7d4b9c-x1     Failed      ImagePullBa…nginx:nope
│ └─Pod (2)               Current
├─ReplicaSet (10)         Current     scaled to 0
└┄Service/web  selects …  Current
`, "without those, a short reason is better than none"},
		{"40 cells", []*TreeItem{rollout()}, TreeOptions{Width: 40}, `
NAME                        STATUS
Deployment/web              InProgress
├─ReplicaSet/web-7d4b9c  ◀  InProgress
│ ├─Pod/web-7d4b9c-x1       Failed
│ └─Pod (2)                 Current
├─ReplicaSet (10)           Current
└┄Service/web  selects it   Current
`, "names and states stay"},
		{"namespaces", []*TreeItem{{Label: "A/a", Namespace: "x", Children: []*TreeItem{{Label: "B/b"}, {Label: "C/c", Namespace: "y"}}}}, TreeOptions{}, `
NAMESPACE   NAME    READY   STATUS   REASON   GEN   AGE
x           A/a     -       -                 -     -
-           ├─B/b   -       -                 -     -
y           └─C/c   -       -                 -     -
`, "several namespaces have a column"},
		{"a long reason", []*TreeItem{{Label: "A/a", Reason: strings.Repeat("x", 70_000)}}, TreeOptions{}, `
NAME   READY   STATUS   REASON   GEN   AGE
A/a    -       -        ` + strings.Repeat("x", 499) + `…   -     -
`, "a row has its bound without a terminal, too"},
		{"no namespace", []*TreeItem{{Label: "A/a", Namespace: "x", Children: []*TreeItem{{Label: "B/b"}}}}, TreeOptions{}, `
NAME    READY   STATUS   REASON   GEN   AGE
A/a     -       -                 -     -
└─B/b   -       -                 -     -
`, "one namespace and objects without one need none"},
		{"one namespace", []*TreeItem{{Label: "A/a", Namespace: "x"}}, TreeOptions{Namespaces: true}, `
NAMESPACE   NAME   READY   STATUS   REASON   GEN   AGE
x           A/a    -       -                 -     -
`, "asked for, as by -A"},
		{"more columns", []*TreeItem{{Label: "A/a", More: []string{"kubectl", ""}}, {Label: "B (2)"}}, TreeOptions{More: []string{"LAST WRITER", "WRITTEN"}}, `
NAME    READY   STATUS   REASON   GEN   AGE   LAST WRITER   WRITTEN
A/a     -       -                 -     -     kubectl       -
B (2)   -       -                 -     -     -             -
`, "columns of -o wide, empty for rows that have none"},
		{"hostile", []*TreeItem{{Label: "A/a\x1b[31m", Note: "n\n", Ready: "\t", Status: "s\x07", Reason: "r\u202er", Generation: "\n", Age: "\x00", Namespace: "n\x1b"}}, TreeOptions{Namespaces: true}, `
NAMESPACE   NAME             READY   STATUS   REASON   GEN   AGE
n^[         A/a^[[31m  n⏎            s�       r�r      ⏎     �
`, "no text commands the terminal"},
		{"wide letters", []*TreeItem{{Label: "A/日本", Status: "ok", Reason: strings.Repeat("理由", 10), Children: []*TreeItem{{Label: "B/b", Status: "ok"}}}}, TreeOptions{Width: 50}, `
NAME    READY  STATUS  REASON
A/日本  -      ok      理由理由理由理由理由理由理…
└─B/b   -      ok
`, "letters of two cells are measured and cut as such"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Tree(&out, tt.items, tt.o); err != nil {
				t.Fatal(err)
			}
			got := out.String()
			want := strings.TrimPrefix(tt.want, "\n")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			for line := range strings.Lines(out.String()) {
				if tt.o.Width > 0 && cells(strings.TrimRight(line, "\n")) > tt.o.Width {
					t.Errorf("%s: wider than %d cells: %q", tt.reason, tt.o.Width, line)
				}
			}
		})
	}
}

func TestTreeIsAsNarrowAsItsNames(t *testing.T) {
	lines := treeLines(t, []*TreeItem{{Label: "Deployment/a-name-longer-than-the-terminal-is-wide", Namespace: "a", Status: "Current", Reason: "fine"}, {Label: "B/b", Namespace: "b"}}, TreeOptions{Width: 20})
	want := []string{
		"NAME             STATUS",
		"Deployme…is-wide Current",
	}
	if diff := cmp.Diff(want, lines[:2]); diff != "" {
		t.Errorf("names keep what they begin and end with, whatever the terminal (-want +got):\n%s", diff)
	}
}

func TestTreeColours(t *testing.T) {
	p := NewPalette(&bytes.Buffer{}, ColorAlways, os.Getenv)
	lines := treeLines(t, []*TreeItem{rollout()}, TreeOptions{Palette: p, Width: 80})
	plain := treeLines(t, []*TreeItem{rollout()}, TreeOptions{Width: 80})
	for i := range lines {
		if got := colour.ReplaceAllString(lines[i], ""); got != plain[i] {
			t.Errorf("colours move the text:\n%s\n%s", plain[i], got)
		}
	}
	for _, want := range []string{p.Dim("│ ├─"), p.Change("InProgress"), p.Trouble("Failed"), p.Trouble("ImagePullBackOff: nginx:nope"), p.Change("3/4"), p.Strong("◀"), p.Dim("  selects it")} {
		if !strings.Contains(strings.Join(lines, "\n"), want) {
			t.Errorf("%q is not there in:\n%q", want, lines)
		}
	}
	if strings.Contains(strings.Join(lines, "\n"), p.Change("Current")) {
		t.Error("what is well is coloured, too")
	}
}

func TestTreeEndsWithItsReader(t *testing.T) {
	var many []*TreeItem
	for range 10_000 {
		many = append(many, &TreeItem{Label: "A/a"})
	}
	if err := Tree(&brokenWriter{100}, many, TreeOptions{}); !errors.Is(err, errBroken) {
		t.Errorf("writing fails, and yet: %v", err)
	}
}

func BenchmarkTree(b *testing.B) {
	items := make([]*TreeItem, 10_000)
	for i := range items {
		items[i] = &TreeItem{Label: fmt.Sprintf("Pod/web-7d4b9c-%d", i), Namespace: "shop", Ready: "1/1", Status: "Current", Generation: "1", Age: "3m"}
	}
	for b.Loop() {
		if err := Tree(&bytes.Buffer{}, items, TreeOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestTreeThatIsDeep: what lies very deep takes no more room than what lies deep.
func TestTreeThatIsDeep(t *testing.T) {
	const depth = 1500
	top := &TreeItem{Label: "A/0"}
	for i, at := 1, top; i <= depth; i++ {
		at.Children = []*TreeItem{{Label: fmt.Sprintf("A/%d", i)}}
		at = at.Children[0]
	}
	lines := treeLines(t, []*TreeItem{top}, TreeOptions{})
	if len(lines) != depth+2 {
		t.Fatalf("%d lines, want %d", len(lines), depth+2)
	}
	bytes := 0
	for _, line := range lines {
		bytes += len(line)
	}
	if most := 200 * depth; bytes > most {
		t.Errorf("%d bytes, want at most %d: they must not grow with the square of the depth", bytes, most)
	}
	for level, want := range map[int]string{
		maxIndentedLevels:     strings.Repeat("  ", maxIndentedLevels-1) + "└─A/50 ",
		maxIndentedLevels + 1: strings.Repeat("  ", maxIndentedLevels) + "└─A/51  level 51 ",
		depth:                 strings.Repeat("  ", maxIndentedLevels) + "└─A/1500  level 1500 ",
	} {
		if got := lines[level+1]; !strings.HasPrefix(got, want) {
			t.Errorf("level %d is drawn as %q, want %q", level, got, want)
		}
	}
}
