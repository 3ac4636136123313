package peer

import (
	"context"
	"time"

	"mooring"
)

// following is a turn of another replica that somebody follows here.
type following struct {
	replica string
	ask     message
	take    func(Piece) int
	asked   time.Time
	gap     bool // something in between did not come
}

// Follow has what a turn's client is sent handed over that another replica runs: from a byte on, or its end alone where from is
// EndOnly. take is told of one piece after the other and gives how many bytes it has by now; it must not wait. It may be told of some
// twice, and of what is missing again. leave ends it.
func (x *Exchange) Follow(ctx context.Context, turn mooring.Turn, from int, take func(Piece) (have int)) (leave func()) {
	x.mu.Lock()
	x.last++
	number := x.last
	f := &following{
		replica: turn.Replica, take: take, asked: x.Now(),
		ask: message{Op: opFollow, Name: x.Name, Number: number, Tenant: turn.Tenant, Turn: turn.ID, At: from},
	}
	x.following[number] = f
	ask := f.ask
	x.mu.Unlock()
	x.send(ctx, turn.Replica, &ask)
	return func() { x.unfollow(number) } //nolint:contextcheck // it ends after its request
}

func (x *Exchange) unfollow(number int) {
	x.mu.Lock()
	f := x.following[number]
	delete(x.following, number)
	x.mu.Unlock()
	if f != nil {
		x.send(context.Background(), f.replica, &message{Op: opLeave, Name: x.Name, Number: number})
	}
}

// hear hands a piece to who follows.
func (x *Exchange) hear(m *message) {
	x.mu.Lock()
	f := x.following[m.Number]
	x.mu.Unlock()
	if f == nil {
		return
	}
	have := f.take(Piece{At: m.At, Data: m.Data, Facts: m.Facts, Ended: m.Ended})
	x.mu.Lock()
	defer x.mu.Unlock()
	if f.ask.At != EndOnly {
		f.gap = m.At > have
		f.ask.At = have
	}
	if m.Ended && !f.gap {
		delete(x.following, m.Number)
	}
}

// askAll says of all that is followed that it still is, and from where.
func (x *Exchange) askAll(ctx context.Context) {
	now := x.Now()
	var due []*following
	var asks []message
	x.mu.Lock()
	for _, f := range x.following {
		if f.gap || now.Sub(f.asked) >= askEvery {
			f.asked, f.gap = now, false
			due, asks = append(due, f), append(asks, f.ask)
		}
	}
	x.mu.Unlock()
	for i, f := range due {
		x.send(ctx, f.replica, &asks[i])
	}
}
