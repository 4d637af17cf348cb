// Package krew installs releases by krew's own programs. It is a module of its own, because of what krew requires.
//
// The variable SNAPSHOT names the folder in which a release was built, such as dist, and KUBECTL a kubectl. Without
// them, and for platforms that were not built, stand-ins are used: archives that have the same files, in which the
// program is a script that prints its name; and a script that runs plugins as kubectl does.
package krew
