package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"mooring/internal/eval"
)

func TestSessionsAcrossTenantsEndInAnError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cross int
		want  error
	}{{0, nil}, {1, errCross}} {
		var out bytes.Buffer
		for _, asJSON := range []bool{false, true} {
			e := evaluation{command: &evalCommand{JSON: asJSON}, program: program{stdout: &out}, report: eval.Report{
				Families: map[string]*eval.Score{"f": {Requests: 3, Cross: tt.cross}},
			}}
			if err := e.printScores(); !errors.Is(err, tt.want) {
				t.Errorf("%d sessions across: error = %v, want %v", tt.cross, err, tt.want)
			}
		}
		if !strings.Contains(out.String(), "total") {
			t.Errorf("the scores are not printed: %s", out.String())
		}
	}
	if !cameToNothing(errCross) {
		t.Error("it is no exit code 1")
	}
}
