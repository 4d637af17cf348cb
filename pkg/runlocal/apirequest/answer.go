package apirequest

import (
	"bytes"
	"io"
	"net/http"
)

// mostHead bounds how much of an answer is kept in memory to look at.
const mostHead = 1 << 16

// Head reads the first 64 KiB of an answer, or all of it if it is shorter: a Status is. The answer can be read as before
// afterwards, what was read of it included, also after an error.
func Head(resp *http.Response) ([]byte, error) {
	head, err := io.ReadAll(io.LimitReader(resp.Body, mostHead))
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), rest}
	return head, err
}
