package cli

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

const (
	plain   = cobra.ShellCompDirectiveNoFileComp
	noSpace = plain | cobra.ShellCompDirectiveNoSpace
)

func TestCompletion(t *testing.T) {
	for _, tt := range []struct {
		reason, typed string
		offered, want []string
		directive     cobra.ShellCompDirective
	}{
		{"nothing is known", "", nil, nil, plain},
		{"all that is known", "", []string{"b", "a"}, []string{"b", "a"}, plain},
		{"what begins so", "d", []string{"deploy", "pods"}, []string{"deploy"}, plain},
		{"a description is no part of the word", "end\t", []string{"end\tthe last"}, nil, plain},
		{"and it is kept", "e", []string{"end\tthe last"}, []string{"end\tthe last"}, plain},
		{"more must be typed", "", []string{"spec.", "kind"}, []string{"spec.", "kind"}, noSpace},
		{"a name after it", "", []string{"pods/"}, []string{"pods/"}, noSpace},
		{"an entry after it", "", []string{"containers["}, []string{"containers["}, noSpace},
		{"a name that a shell would run", "", []string{"$(reboot)", "`reboot`", "a b", "a\x1b[31m", `a\b`, "a'", `a"`, "a"}, []string{"a"}, plain},
	} {
		complete := Completion(Words(tt.offered...))
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		words, directive := complete(cmd, nil, tt.typed)
		if diff := cmp.Diff(tt.want, words); diff != "" || directive != tt.directive {
			t.Errorf("%s: directive %d, want %d; words (-want +got):\n%s", tt.reason, directive, tt.directive, diff)
		}
	}
}

func TestCompleteList(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.Flags().StringSlice("kinds", nil, "")
	CompleteList(cmd, "kinds", Words("deployments\tapps", "pods"))
	complete, ok := cmd.GetFlagCompletionFunc("kinds")
	if !ok {
		t.Fatal("the flag is not completed")
	}
	for _, tt := range []struct {
		reason, typed string
		want          []string
	}{
		{"the first word", "", []string{"deployments\tapps", "pods"}},
		{"another one", "pods,", []string{"pods,deployments\tapps"}},
		{"the beginning of another one", "pods,d", []string{"pods,deployments\tapps"}},
		{"one that is there", "deployments,d", nil},
		{"a word that is not known", "x,p", []string{"x,pods"}},
	} {
		words, directive := complete(cmd, nil, tt.typed)
		if diff := cmp.Diff(tt.want, words); diff != "" || directive != noSpace {
			t.Errorf("%s: directive %d; words (-want +got):\n%s", tt.reason, directive, diff)
		}
	}
}

// TestLateCompletion: what does not come in time is nothing, whether it knows the context or not.
func TestLateCompletion(t *testing.T) {
	for reason, knows := range map[string]bool{"it ends with the context": true, "it does not know the context": false} {
		synctest.Test(t, func(t *testing.T) {
			cmd := &cobra.Command{}
			cmd.SetContext(t.Context())
			end := make(chan struct{})
			defer close(end)
			offer := func(ctx context.Context, _ []string, _ string) []string {
				if knows {
					<-ctx.Done()
				} else {
					<-end
				}
				return []string{"late, or a part"}
			}
			began := time.Now()
			words, directive := Completion(offer)(cmd, nil, "")
			if took := time.Since(began); len(words) > 0 || directive != plain || took >= time.Second {
				t.Errorf("%s: %q after %s", reason, words, took)
			}
		})
	}
}
