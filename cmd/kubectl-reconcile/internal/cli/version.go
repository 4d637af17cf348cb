package cli

import "runtime/debug"

// version is set by the linker in releases.
var version string

// Version returns the version of the program: of a release, else that of the module in the build information, which is
// "(devel)" in a checkout and empty if there is none.
func Version() string {
	if version != "" {
		return version
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		return build.Main.Version
	}
	return ""
}
