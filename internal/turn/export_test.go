package turn

import "context"

// Lane is one lane of a table, for tests of the queue alone.
type Lane struct{ lanes lanes }

// Enter takes a place in it and gives what frees the place.
func (l *Lane) Enter(ctx context.Context, way Concurrency, r Rules) (leave func(), waited bool, err error) {
	s, waited, err := l.lanes.enter(ctx, laneKey{session: "ses_1"}, way, r)
	if err != nil {
		return nil, waited, err
	}
	return func() { l.lanes.leave(s) }, waited, nil
}

// Empty says that nobody runs or waits.
func (l *Lane) Empty() bool {
	l.lanes.mu.Lock()
	defer l.lanes.mu.Unlock()
	return len(l.lanes.open) == 0
}
