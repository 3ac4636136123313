package main

import (
	"fmt"
	"os"

	"github.com/mattn/go-isatty"

	"mooring/internal/console"
)

// isTerminal asks the system, which takes /dev/null for none.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// note tells people something on one line beside the output, which stays for what was asked for. The words may be another's.
func (p program) note(text string) {
	_, _ = fmt.Fprintln(p.stderr, "mooring:", console.Line(text))
}
