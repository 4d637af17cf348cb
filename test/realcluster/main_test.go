package realcluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// victimVariable makes the test binary, run again, a victim: it starts what the variable says, prints a left and waits
// for its end.
const victimVariable = "REALCLUSTER_TEST_VICTIM"

func TestMain(m *testing.M) {
	if what := os.Getenv(victimVariable); what != "" {
		if err := victim(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// left is what must be gone when the process that made it is.
type left struct {
	Dir       string
	Processes map[string]int
	Address   string // that was listened on; may be empty
}

// victim starts something, says what, and ends as it is told on stdin: by a panic, or not at all before it is killed.
func victim(what string) error {
	made, err := makeSomething(context.Background(), what)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(made); err != nil {
		return fmt.Errorf("saying what runs: %w", err)
	}
	var end string
	_, err = fmt.Scanln(&end)
	if end == "panic" {
		panic("as the test wants it")
	}
	return err
}

func makeSomething(ctx context.Context, what string) (left, error) {
	switch what {
	case "cluster":
		c, err := Start(ctx, Options{Controllers: []string{"deployment-controller"}, Scheduler: true, Nodes: 1})
		if err != nil {
			return left{}, err
		}
		return left{c.Dir(), c.Processes(), c.address()}, nil
	case "sandbox":
		s, err := StartSandbox(ctx, SandboxOptions{Args: []string{"--controller", "none", "--nodes", "0"}})
		if err != nil {
			return left{}, err
		}
		return left{Dir: s.Dir(), Processes: s.Processes()}, nil
	}
	h, err := newHome("home")
	if err != nil {
		return left{}, err
	}
	_, err = h.start("sleep", nil, "sleep", "1000")
	return left{Dir: h.dir, Processes: h.numbers()}, err
}
