package plan

import (
	"fmt"
	"testing"
)

// BenchmarkPlan plans the first rollout of a Deployment: a step for each pod to be placed and one for it to start, and
// all the while the keys of the other pods wait.
func BenchmarkPlan(b *testing.B) {
	for _, pods := range []int{10, 100, 400} {
		b.Run(fmt.Sprintf("%dpods", pods), func(b *testing.B) {
			steps := 0
			for b.Loop() {
				p := planOf(b, deployment(pods, "a"), "", RunOptions{Limit: 10 * pods})
				if p.End != EndSettled {
					b.Fatalf("the plan ended %q after %d steps", p.End, len(p.Steps))
				}
				steps += len(p.Steps)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(steps), "µs/step")
		})
	}
}
