package edge

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"mooring"
)

const (
	// slotRequests and slotStreams are what one web UI is asked at once. It has 128 threads, and one of them for each connection
	// (hermes-webui server.py at df65251d).
	slotRequests = 100
	slotStreams  = 64

	dialTime        = 2 * time.Second
	answerTime      = 60 * time.Second
	maxSlotHeader   = 64 << 10
	maxAskHeader    = 64 << 10         // more than maxHeader lets come, with what the edge adds
	streamSilence   = 30 * time.Second // six of the web UI's heartbeats
	bodySilence     = 60 * time.Second
	streamAge       = time.Hour // then a browser comes back and is looked at again
	browserPatience = time.Minute
)

// slot is one web UI with the connections to it. No two requests share one: Python's http.server leaves the body of a request it has
// refused on the connection, and would take it for the next request.
type slot struct {
	name    mooring.SlotName
	url     *url.URL
	via     *http.Transport
	asked   chan struct{}
	streams chan struct{}
}

func newSlot(name mooring.SlotName, u *url.URL) *slot {
	dialer := &net.Dialer{Timeout: dialTime}
	return &slot{
		name: name, url: u, asked: make(chan struct{}, slotRequests), streams: make(chan struct{}, slotStreams),
		via: &http.Transport{
			DisableKeepAlives: true, DisableCompression: true, MaxConnsPerHost: slotRequests, MaxResponseHeaderBytes: maxSlotHeader,
			// A head goes out in one piece: http.server carries out what it got of one that breaks off, with cookies and without the identity.
			WriteBufferSize:       maxAskHeader,
			ResponseHeaderTimeout: answerTime, DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTime,
		},
	}
}

// enter takes one of the slot's places, or says that there is none. leave gives it back.
func (s *slot) enter(v *visit) (leave func(), ok bool) {
	var places []chan struct{}
	leave = func() {
		for _, p := range places {
			<-p
		}
	}
	want := []chan struct{}{s.asked}
	if v.stream {
		want = append(want, s.streams)
	}
	for _, p := range want {
		select {
		case p <- struct{}{}:
			places = append(places, p)
		default:
			leave()
			return nil, false
		}
	}
	return leave, true
}

// visits are the requests that slots are answering.
type visits struct {
	mu   sync.Mutex // guards the map
	open map[*visit]struct{}
	all  sync.WaitGroup
}

// begin lets a visit be ended by others; done has to be called.
func (o *visits) begin(ctx context.Context, v *visit) (in context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	v.cancel = cancel
	o.mu.Lock()
	if o.open == nil {
		o.open = map[*visit]struct{}{}
	}
	o.open[v] = struct{}{}
	o.mu.Unlock()
	o.all.Add(1)
	return ctx, func() {
		o.mu.Lock()
		delete(o.open, v)
		o.mu.Unlock()
		cancel(nil)
		o.all.Done()
	}
}

// end ends the visits that are meant.
func (o *visits) end(meant func(*visit) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for v := range o.open {
		if meant(v) {
			v.cancel(errRevoked)
		}
	}
}

// logins gives the logins that visits stand on.
func (o *visits) logins() map[string][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[string][]byte{}
	for v := range o.open {
		if v.login != nil {
			out[string(v.login)] = v.login
		}
	}
	return out
}

func (o *visits) wait() { o.all.Wait() }
