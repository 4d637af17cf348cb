package heap

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryShare is the part of the memory, in percent, that the program may take before it collects garbage as often as it must.
const memoryShare = 75

// Limit sets the memory limit of the Go runtime to three quarters of the memory that there is, that of the machine or of
// the control group if that has less, unless the environment decides (GOMEMLIMIT). It is a soft limit: garbage is collected
// more often as it comes near, and nothing fails beyond it. It returns the limit in bytes, 0 if it set none, as where the
// memory cannot be told.
func Limit() int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	there := availableMemory("/")
	if there == 0 {
		return 0
	}
	limit := there / 100 * memoryShare
	debug.SetMemoryLimit(limit)
	return limit
}

// availableMemory is how many bytes of memory there are for this process, by the files of Linux below root; 0 if they do not tell.
func availableMemory(root string) int64 {
	least := totalMemory(readFile(root + "proc/meminfo"))
	for _, limit := range groupLimits(root) {
		if limit > 0 && (least == 0 || limit < least) {
			least = limit
		}
	}
	return least
}

// totalMemory finds the machine's memory in /proc/meminfo.
func totalMemory(meminfo string) int64 {
	_, rest, found := strings.Cut(meminfo, "MemTotal:")
	fields := strings.Fields(rest)
	if !found || len(fields) < 2 || fields[1] != "kB" {
		return 0
	}
	return parseBytes(fields[0]) << 10
}

// groupLimits are the limits of the control groups of this process, of version 2 or 1, and of those above them.
func groupLimits(root string) []int64 {
	var out []int64
	for line := range strings.Lines(readFile(root + "proc/self/cgroup")) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		folder, file := "sys/fs/cgroup", "/memory.max"
		if controllers != "" {
			if !strings.Contains(","+controllers+",", ",memory,") {
				continue
			}
			folder, file = "sys/fs/cgroup/memory", "/memory.limit_in_bytes"
		}
		// In a container the path may be that of the host: what is there is seen at the top.
		for path = strings.TrimSuffix(path, "/"); ; path = path[:strings.LastIndexByte(path, '/')] {
			out = append(out, parseBytes(readFile(root+folder+path+file)))
			if path == "" {
				break
			}
		}
	}
	return out
}

// readFile is what a file holds, nothing if it cannot be read.
func readFile(path string) string {
	data, err := os.ReadFile(path) //nolint:gosec // G304: it is a file of the system
	if err != nil {
		return ""
	}
	return string(data)
}

// parseBytes is a number of bytes, 0 if text is none, such as "max".
func parseBytes(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
