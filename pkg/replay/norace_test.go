//go:build !race

package replay_test

// stride is how far apart the bytes are that tests cut or damage, and the moments that they seek.
const stride = 1
