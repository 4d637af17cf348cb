// Package snapshot holds what objects at a moment have in common, wherever they come from: a cluster, a recording,
// files or the embedded API. It is below all packages that read or write objects, and its functions are safe for
// concurrent use.
//
// version.go compares resource versions, and retime.go moves the times of objects.
package snapshot

import (
	"cmp"
	"strconv"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// IsNewer reports whether a resource version is newer than another one. Versions are numbers above 0 of any length,
// without leading zeros. The empty version is older than all of them. Anything else, 0 included, is no version of an
// object: it is neither newer nor older than another.
func IsNewer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, cmp.Or(than, version))
	return err == nil && (order > 0 || than == "")
}

// VersionNumber returns a resource version as a number; 0 if it is empty, is no version as IsNewer compares them, or
// needs more than 64 bits, which no API server's does.
func VersionNumber(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil || version[0] == '0' {
		return 0
	}
	return n
}
