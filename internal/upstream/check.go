package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	checkEvery   = 10 * time.Second
	checkTimeout = 5 * time.Second
	checkBody    = 16 << 10 // of an answer is read, so that its connection can be used again
)

func (u *Upstream) checkLoop(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		u.check(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// check asks the health path once. It never touches a pin, takes no place and counts as no request.
func (u *Upstream) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.Base.String()+u.Health, nil)
	if err != nil {
		return
	}
	res, err := u.transport.RoundTrip(req)
	found := "no answer"
	if err == nil {
		found = "status " + strconv.Itoa(res.StatusCode)
		if res.StatusCode < http.StatusInternalServerError {
			found = ""
		}
		_, _ = io.CopyN(io.Discard, res.Body, checkBody)
		_ = res.Body.Close()
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return // the program stops
	}
	u.state.circuit.checked(found)
}
