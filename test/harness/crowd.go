package harness

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Crowd is clients that go on until they are told to stop: each asks, and asks again what was not answered.
type Crowd struct {
	Clients []*Client

	pause   time.Duration // between two questions
	tries   int           // of one question
	answers []atomic.Int64
	ctx     context.Context //nolint:containedctx // the crowd's own life, from Go to Halt
	cut     context.CancelFunc
	stop    chan struct{}
	all     sync.WaitGroup
}

// NewCrowd makes a crowd that waits for Go.
func NewCrowd(clients []*Client, pause time.Duration, tries int) *Crowd {
	return &Crowd{Clients: clients, pause: pause, tries: tries, answers: make([]atomic.Int64, len(clients)), stop: make(chan struct{})}
}

// Go has all clients begin.
func (c *Crowd) Go(ctx context.Context) {
	c.ctx, c.cut = context.WithCancel(ctx)
	for i, client := range c.Clients {
		c.all.Go(func() { c.loop(client, &c.answers[i]) })
	}
}

// Halt has every client end the request it has under way, and waits for that.
func (c *Crowd) Halt() {
	close(c.stop)
	c.all.Wait()
	c.cut()
}

func (c *Crowd) loop(client *Client, answers *atomic.Int64) {
	for !c.over() {
		s := client.Ask(c.ctx)
		for s.Outcome != Answered && s.Attempt < c.tries && !c.over() {
			Sleep(c.stop, patienceOf(s))
			s = client.Again(c.ctx, s)
		}
		if s.Outcome == Answered {
			answers.Add(1)
		}
		Sleep(c.stop, c.pause)
	}
}

// patienceOf is how long a client leaves a server alone after an error: a while, as SDKs do, that is the longer the more it had.
func patienceOf(s *Seen) time.Duration { return 30 * time.Millisecond << min(s.Attempt, 4) }

func (c *Crowd) over() bool {
	select {
	case <-c.stop:
		return true
	case <-c.ctx.Done():
		return true
	default:
		return false
	}
}

// Await waits until each client has had so many answers from now on, and gives how long that took.
func (c *Crowd) Await(answers int64, most time.Duration) (time.Duration, error) {
	began := Now()
	wanted := make([]int64, len(c.answers))
	for i := range c.answers {
		wanted[i] = c.answers[i].Load() + answers
	}
	for i := range wanted {
		for c.answers[i].Load() < wanted[i] {
			took := Now().Sub(began)
			if took > most || c.over() {
				return took, fmt.Errorf("client %s had %d of %d answers within %s", c.Clients[i].Key, c.answers[i].Load()-wanted[i]+answers, answers, took.Round(time.Millisecond))
			}
			Sleep(c.ctx.Done(), 5*time.Millisecond)
		}
	}
	return Now().Sub(began), nil
}
