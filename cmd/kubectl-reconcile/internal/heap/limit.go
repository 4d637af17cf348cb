package heap

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryShare is the percentage of the memory that Limit sets.
const memoryShare = 75

// Limit sets the memory limit of the Go runtime to three quarters of the memory of the machine, or of the control
// group if that has less, unless GOMEMLIMIT is set. It is a soft limit: garbage is collected more often near it, and
// nothing fails beyond it. Limit returns it in bytes; 0 if it set none, because of GOMEMLIMIT or because the memory
// is not known.
func Limit() int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	available := availableMemory("/")
	if available == 0 {
		return 0
	}
	limit := available / 100 * memoryShare
	debug.SetMemoryLimit(limit)
	return limit
}

// availableMemory returns how many bytes of memory this process may use, by the files of Linux below root; 0 if they
// do not exist.
func availableMemory(root string) int64 {
	least := totalMemory(readFile(root + "proc/meminfo"))
	for _, limit := range groupLimits(root) {
		if limit > 0 && (least == 0 || limit < least) {
			least = limit
		}
	}
	return least
}

// totalMemory returns the memory of the machine, in bytes, by the text of /proc/meminfo; 0 if that has none.
func totalMemory(meminfo string) int64 {
	_, rest, found := strings.Cut(meminfo, "MemTotal:")
	fields := strings.Fields(rest)
	if !found || len(fields) < 2 || fields[1] != "kB" {
		return 0
	}
	return parseBytes(fields[0]) << 10
}

// groupLimits returns the limits, in bytes, of the control groups of this process, of version 2 or 1, and of their
// ancestors; 0 for each without one.
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
		// In a container the path may be that of the host, and the group of the container be mounted at the top.
		for path = strings.TrimSuffix(path, "/"); ; path = path[:strings.LastIndexByte(path, '/')] {
			out = append(out, parseBytes(readFile(root+folder+path+file)))
			if path == "" {
				break
			}
		}
	}
	return out
}

// readFile returns the content of a file; nothing if it cannot be read.
func readFile(path string) string {
	data, err := os.ReadFile(path) //nolint:gosec // G304: it is a file of the system
	if err != nil {
		return ""
	}
	return string(data)
}

// parseBytes returns a number of bytes; 0 if the text is none, such as "max".
func parseBytes(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
