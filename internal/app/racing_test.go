//go:build race

package app_test

// racing says that the race detector is in the program, whose memory is then not what it is.
const racing = true
