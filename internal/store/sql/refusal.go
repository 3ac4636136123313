package sqlstore

import (
	"errors"
	"fmt"

	"mooring"
)

// refusal is a change whose outcome shows only when a part of it is written. The batch is rolled back and begun once more, each
// change behind a savepoint: this costs only batches in which it happens, where a look beforehand would cost all.
type refusal struct {
	change mooring.Change
	why    error
}

// Error is never shown.
func (r *refusal) Error() string { return fmt.Sprintf("change refused: %v", r.why) }

// refuse takes in why a try of a batch was given up, and says whether that is a refusal: then there is another try. Each change is
// refused once at most, so tries end.
func (w *writer) refuse(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return false
	}
	if w.refusals == nil {
		w.refusals = map[mooring.Change]error{}
	}
	w.refusals[r.change] = r.why
	return true
}

// refuseNone refuses a change where a statement of it finds no row.
func refuseNone(c mooring.Change, why error) func(rows int) error {
	return func(rows int) error {
		if rows == 0 {
			return &refusal{c, why}
		}
		return nil
	}
}

// turnedDown gives what was found out about a change when its batch was tried before; nil for nothing.
func (w *writer) turnedDown(c mooring.Change) error { return w.refusals[c] }

func lost() error {
	return mooring.Errorf(mooring.CodeTurnLost, "The turn is not this replica's any more.")
}

func taken(why string) error {
	return mooring.Errorf(mooring.CodeSessionTaken, "%s; try again.", why)
}
