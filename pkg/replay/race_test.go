//go:build race

package replay_test

// stride is how far apart the bytes are that tests cut or damage, and the moments that they seek. The race detector
// makes each cost ten times as much, and finds nothing in what one goroutine does: without it, each has its turn.
const stride = 13
