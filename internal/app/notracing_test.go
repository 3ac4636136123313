//go:build !race

package app_test

const racing = false
