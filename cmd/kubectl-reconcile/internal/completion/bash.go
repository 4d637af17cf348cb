package completion

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// bashFunctions are those of the package bash-completion that cobra's script calls: if there is none, each does what
// the script needs of it. %[1]s is the name of the program.
const bashFunctions = `
# The rest is for shells without the package bash-completion.

__%[1]s_get_comp_words()
{
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@"
    else
        __%[1]s_join_comp_words
    fi
}

# Sets words, cword, cur and prev, as _get_comp_words_by_ref -n =: does: words that bash has split at = and : are put
# together again. Those after the cursor are left out.
__%[1]s_join_comp_words()
{
    local line=${COMP_LINE:0:COMP_POINT} word i apart
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        apart=1
        if ((i > 0)) && [[ $line != [[:blank:]]* && ( $word == [=:]* || ${COMP_WORDS[i-1]} == *[=:] ) ]]; then
            apart=0
        fi
        line=${line#"${line%%%%[![:blank:]]*}"}
        if ((i == COMP_CWORD)); then
            word=$line
        fi
        line=${line#"$word"}
        if ((apart)); then
            words+=("$word")
        else
            words[${#words[@]}-1]+=$word
        fi
    done
    cword=$((${#words[@]} - 1))
    cur=${words[cword]}
    prev=
    if ((cword > 0)); then
        prev=${words[cword-1]}
    fi
}

# Completes files, or with -d folders.
__%[1]s_filedir()
{
    if declare -F _filedir >/dev/null 2>&1; then
        _filedir "$@"
        return
    fi
    local action=file
    if [[ ${1-} == -d ]]; then
        action=directory
    fi
    compopt -o filenames 2>/dev/null
    local IFS=$'\n'
    COMPREPLY=($(compgen -A "$action" -- "$cur"))
}
`

// writeBash writes the script for bash: cobra's, which works without the package bash-completion, too.
func writeBash(w io.Writer, root *cobra.Command, descriptions bool) error {
	var script bytes.Buffer
	if err := root.GenBashCompletionV2(&script, descriptions); err != nil {
		return fmt.Errorf("writing the script for bash: %w", err)
	}
	prefix := "__" + root.Name()
	out := strings.NewReplacer(
		`_get_comp_words_by_ref "$@"`, prefix+`_get_comp_words "$@"`, " _filedir", " "+prefix+"_filedir",
		`"_filedir `, `"`+prefix+`_filedir `,
	).Replace(script.String())
	_, err := io.WriteString(w, out+fmt.Sprintf(bashFunctions, root.Name()))
	return err
}

// replaceBash makes `completion bash` write that script.
func replaceBash(bash *cobra.Command, out io.Writer) {
	bash.Long = strings.Replace(bash.Long, `This script depends on the 'bash-completion' package.
If it is not installed already, you can install it via your OS's package manager.
`, `The package bash-completion is not needed; with it, only YAML and JSON is offered for -f.
`, 1)
	bash.RunE = func(cmd *cobra.Command, _ []string) error {
		without, err := cmd.Flags().GetBool("no-descriptions")
		if err != nil {
			return err
		}
		return writeBash(out, cmd.Root(), !without)
	}
}
