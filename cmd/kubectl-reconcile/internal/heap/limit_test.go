package heap

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestMemory(t *testing.T) {
	const meminfo = "MemTotal:       16777216 kB\nMemFree:        1 kB\n"
	for _, tt := range []struct {
		reason string
		files  map[string]string
		want   int64
	}{
		{"nothing is known, as where there is no Linux", nil, 0},
		{"the machine's", map[string]string{"proc/meminfo": meminfo}, 16 << 30},
		{"another unit, which there never was", map[string]string{"proc/meminfo": "MemTotal: 16 GB\n"}, 0},
		{"cut off", map[string]string{"proc/meminfo": "MemTotal:"}, 0},
		{"a container", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n",
		}, 512 << 20},
		{"a group without a limit", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n",
		}, 16 << 30},
		{"a limit beyond the machine's memory", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "9223372036854771712\n",
		}, 16 << 30},
		{"a group above has the limit", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/user.slice/session-1.scope\n",
			"sys/fs/cgroup/user.slice/session-1.scope/memory.max": "max\n", "sys/fs/cgroup/user.slice/memory.max": "1073741824\n",
		}, 1 << 30},
		{"the path is the host's, and not seen from inside", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/kubepods/pod1/c1\n", "sys/fs/cgroup/memory.max": "1073741824\n",
		}, 1 << 30},
		{"version 1", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "9:cpu,cpuacct:/a\n8:memory:/a\n1:name=systemd:/a\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "2147483648\n",
		}, 2 << 30},
		{"nonsense", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "\n:\nx\n0::\n"}, 16 << 30},
	} {
		root := t.TempDir() + "/"
		for name, data := range tt.files {
			if err := os.MkdirAll(filepath.Dir(root+name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(root+name, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := availableMemory(root); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", tt.reason, got, tt.want)
		}
	}
}

func TestLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	t.Setenv("GOMEMLIMIT", "1GiB")
	if got := Limit(); got != 0 || debug.SetMemoryLimit(-1) != before {
		t.Errorf("the environment decides: a limit of %d was set", got)
	}
	t.Setenv("GOMEMLIMIT", "")
	got := Limit()
	if there := availableMemory("/"); there > 0 && (got <= there/2 || got >= there || debug.SetMemoryLimit(-1) != got) {
		t.Errorf("a limit of %d was set, of %d that there are", got, there)
	} else if there == 0 && (got != 0 || before != math.MaxInt64) {
		t.Errorf("a limit of %d was set where the memory is not known", got)
	}
}
