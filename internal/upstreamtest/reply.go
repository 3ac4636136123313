package upstreamtest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Reply says how one request is answered. The zero Reply is an ordinary answer of the request's protocol, streamed where
// it was asked for.
type Reply struct {
	// The ordinary answer.
	Text     string // of the assistant; "This is answer N." where empty, N counting the server's POST requests
	Thinking string // before the text
	Tool     *ToolCall
	Usage    *Usage // 9 in, words of the text out, where nil
	Empty    bool   // neither text nor tool, with the protocol's normal end

	// Another answer.
	Status      int // 200 where 0; with 400 and more and no Body the protocol's error object
	Body        []byte
	ContentType string   // of Body; application/json where empty
	Events      []string // a stream of these instead of the protocol's, each written as it stands
	Header      http.Header
	Trailer     http.Header
	Encoding    string // gzip, br or zstd

	// How it comes.
	Early      bool            // streamed at once, before the request's body is read; not for replies of a function
	Hints      bool            // a 103 with a Link before it
	ByteByByte bool            // each byte flushed
	Delay      time.Duration   // before the header
	Gap        time.Duration   // between events
	Hold       <-chan struct{} // the header waits until it is closed
	HoldAt     <-chan struct{} // the event number At waits until it is closed

	// How it fails.
	Fault Fault
	At    int // how many events, or bytes of a buffered body, come before it; 0 for the first
}

// Fault is what goes wrong with an answer.
type Fault string

// The faults. Those about events need a streamed answer.
const (
	Lost        Fault = "lost"          // the connection is closed before an answer
	Hang        Fault = "hang"          // no answer at all, until the client goes
	Stall       Fault = "stall"         // nothing more after At events
	Cut         Fault = "cut"           // the connection is closed after At events, or At bytes of a buffered body (0: half)
	CutMidEvent Fault = "cut mid-event" // … in the middle of the event that follows
	End         Fault = "end"           // the body ends in good order after At events
	ErrorEvent  Fault = "error event"   // the protocol's error event follows At events, then the body ends
	SlowHeaders Fault = "slow headers"  // the head comes byte by byte, with Gap between them; HTTP/1.1 only
)

// ToolCall is a call that the model asks for.
type ToolCall struct {
	ID        string
	Name      string
	Namespace string // of the name; responses only
	Arguments string // JSON
}

// Usage is what the answer says it took. Input counts tokens that no cache held.
type Usage struct {
	Input, Output, CacheRead, CacheWrite5m, CacheWrite1h int
}

// Failure is an answer with the protocol's error object.
func Failure(status int) Reply { return Reply{Status: status} }

// TooManyRequests is a 429 that says when to come again.
func TooManyRequests(after time.Duration) Reply {
	return Reply{
		Status: http.StatusTooManyRequests,
		Header: http.Header{"Retry-After": {strconv.Itoa(int(after.Seconds()))}},
	}
}

// HTML is what a proxy before the model server answers.
func HTML(status int) Reply {
	page := fmt.Sprintf("<html><body><h1>%d %s</h1></body></html>\n", status, http.StatusText(status))
	return Reply{Status: status, Body: []byte(page), ContentType: "text/html; charset=utf-8"}
}

// Redirect points to another address.
func Redirect(to string) Reply {
	return Reply{Status: http.StatusTemporaryRedirect, Body: []byte{}, Header: http.Header{"Location": {to}}}
}

func (r Reply) status() int {
	if r.Status == 0 {
		return http.StatusOK
	}
	return r.Status
}

func (r Reply) text(turn int) string {
	if r.Text == "" && r.Tool == nil && !r.Empty {
		return fmt.Sprintf("This is answer %d.", turn)
	}
	return r.Text
}

func (r Reply) usage(text string) Usage {
	if r.Usage != nil {
		return *r.Usage
	}
	return Usage{Input: 9, Output: len(pieces(text))}
}
