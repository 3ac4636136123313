package forward_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/upstream"
)

const (
	linger = 50 * time.Millisecond // of engine
	done   = "data: [DONE]\n\n"
	finish = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	usage  = `data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}` + "\n\n"

	chatError     = `data: {"error":{"message":"out of oil","type":"server_error","code":"x"}}` + "\n\n"
	messagesText  = "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n"
	messagesError = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"out of oil\"}}\n\n"
	messagesStop  = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

func say(text string) string {
	return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` + "\n\n"
}

func sayOf(choice, text string) string {
	return strings.Replace(say(text), `"index":0`, `"index":`+choice, 1)
}

// pieces is an upstream whose stream comes in exactly these pieces, each after a pause; then it ends, or stays open until its
// client goes.
type pieces struct {
	pause    time.Duration
	parts    []string
	open     bool
	encoding string
}

func (p pieces) RoundTrip(r *http.Request) (*http.Response, error) {
	reader, writer := io.Pipe()
	go func() {
		for _, part := range p.parts {
			select {
			case <-time.After(p.pause):
			case <-r.Context().Done():
				return
			}
			if _, err := io.WriteString(writer, part); err != nil {
				return
			}
		}
		if !p.open {
			writer.Close()
		}
	}()
	context.AfterFunc(r.Context(), func() { writer.CloseWithError(r.Context().Err()) })
	h := http.Header{"Content-Type": {"text/event-stream"}}
	if p.encoding != "" {
		h.Set("Content-Encoding", p.encoding)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: h, Body: reader}, nil
}

// copied opens a stream and passes it on to its end.
func copied(t *testing.T, protocol mooring.Protocol, from http.RoundTripper) (out forward.Outcome, client string) {
	t.Helper()
	c := call(target(t, upstream.Spec{Builtin: from}), streamed, nil)
	c.Protocol = protocol
	res := open(t, c)
	res.Peek()
	var s sink
	out = res.Copy(&s)
	return out, s.String()
}

func TestEndOfStreams(t *testing.T) {
	t.Parallel()
	const failure = `data: {"error":{"message":"`
	for name, of := range map[string]struct {
		protocol mooring.Protocol
		from     pieces
		state    mooring.TurnState
		client   string
		tail     string
	}{
		"another choice goes on behind a finish": {
			mooring.Chat,
			pieces{3 * linger, []string{say("a"), sayOf("1", "b"), finish, sayOf("1", "c"), strings.Replace(finish, `"index":0`, `"index":1`, 1) + done}, true, ""},
			mooring.Completed, say("a") + sayOf("1", "b") + finish + sayOf("1", "c") + strings.Replace(finish, `"index":0`, `"index":1`, 1), done,
		},
		"a body that ends while another choice goes on": {
			mooring.Chat, pieces{0, []string{say("a"), sayOf("1", "b"), finish}, false, ""}, mooring.Failed, say("a") + sayOf("1", "b") + finish, failure,
		},
		"each event begins the wait anew": {
			mooring.Chat, pieces{linger * 4 / 5, []string{say("a"), finish, usage, "data:[DONE]\n\n"}, true, ""}, mooring.Completed, say("a") + finish + usage, "data:[DONE]\n\n",
		},
		"pings do not": {
			mooring.Chat, pieces{linger * 4 / 5, []string{say("a"), finish, ": ping\n\n", ": ping\n\n", ": ping\n\n"}, true, ""}, mooring.Completed, say("a") + finish + ": ping\n\n", done,
		},
		"a blank line that comes by itself":          {mooring.Chat, pieces{linger / 2, []string{say("a"), "data:[DONE]", "\n\n"}, true, ""}, mooring.Completed, say("a"), "data:[DONE]\n\n"},
		"half a blank line that comes by itself":     {mooring.Messages, pieces{linger / 2, []string{messagesText, messagesStop[:len(messagesStop)-1], "\n"}, true, ""}, mooring.Completed, messagesText, messagesStop},
		"a blank line that never comes":              {mooring.Chat, pieces{0, []string{say("a"), "data:[DONE]"}, true, ""}, mooring.Completed, say("a"), "data:[DONE]\n\n"},
		"a body that ends without its blank line":    {mooring.Messages, pieces{0, []string{messagesText, strings.TrimSpace(messagesStop)}, false, ""}, mooring.Completed, messagesText, messagesStop},
		"an empty answer without its blank line":     {mooring.Chat, pieces{0, []string{"data: [DONE]\n"}, false, ""}, mooring.Completed, "", done},
		"an error is held back, with what follows":   {mooring.Chat, pieces{linger / 3, []string{say("a"), chatError, ": x\n\n", "data:[DONE]\n\n"}, false, ""}, mooring.Failed, say("a"), chatError + ": x\n\ndata:[DONE]\n\n"},
		"an error without a terminator gets one":     {mooring.Chat, pieces{0, []string{say("a"), chatError}, false, ""}, mooring.Failed, say("a"), chatError + done},
		"an error before a body that stays open":     {mooring.Chat, pieces{0, []string{say("a"), chatError}, true, ""}, mooring.Failed, say("a"), chatError + done},
		"an error of messages ends its stream":       {mooring.Messages, pieces{0, []string{messagesText, messagesError}, false, ""}, mooring.Failed, messagesText, messagesError},
		"an error of messages whose body stays open": {mooring.Messages, pieces{0, []string{messagesText, messagesError}, true, ""}, mooring.Failed, messagesText, messagesError},
		"an error first":                             {mooring.Chat, pieces{linger / 2, []string{": hi\n\n", chatError, done}, false, ""}, mooring.Failed, ": hi\n\n", chatError + done},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				out, client := copied(t, of.protocol, of.from)
				if diff := cmp.Diff(of.client, client); diff != "" {
					t.Errorf("client has before the commit (-want +got):\n%s", diff)
				}
				ok := string(out.Tail) == of.tail || of.tail == failure && strings.HasPrefix(string(out.Tail), failure)
				if out.State != of.state || !ok {
					t.Errorf("%s with tail %q, want %s with %q", out.State, out.Tail, of.state, of.tail)
				}
			})
		})
	}
}

// ended is a context that ends after a while, with the cause with which a server ends its requests.
func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Second, func() { cancel(mooring.Errorf(mooring.CodeShuttingDown, "The server is shutting down; try again.")) })
	return ctx
}

func TestRequestsThatTheServerEnds(t *testing.T) {
	t.Parallel()
	t.Run("a stream fails with its error", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			res, err := engine().Open(ended(t), call(target(t, upstream.Spec{Builtin: pieces{parts: []string{say("a")}, open: true}}), streamed, nil))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Close()
			res.Peek()
			out := res.Copy(&sink{})
			want := string(forward.FailureTail(mooring.Chat, mooring.CodeShuttingDown, "The server is shutting down"))
			if out.State != mooring.Failed || out.Code != mooring.CodeShuttingDown || string(out.Tail) != want || out.Early {
				t.Errorf("%s %s (early %v) with tail %q, want failed shutting_down with %q", out.State, out.Code, out.Early, out.Tail, want)
			}
		})
	})
	t.Run("a buffered answer", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			res, err := engine().Open(ended(t), call(target(t, upstream.Spec{Builtin: pieces{parts: []string{say("a")}, open: true}}), buffered, nil))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Close()
			if out := res.Whole(); out.State != mooring.Failed || out.Code != mooring.CodeShuttingDown || out.Early {
				t.Errorf("%s %s (early %v), want failed shutting_down", out.State, out.Code, out.Early)
			}
		})
	})
	t.Run("before an answer", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			u := target(t, upstream.Spec{Builtin: answers(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})})
			_, err := engine().Open(ended(t), call(u, buffered, nil))
			if _, failures := u.Requests(); mooring.CodeOf(err) != mooring.CodeShuttingDown || failures != 0 {
				t.Errorf("error = %v with %d failures of the upstream, want shutting_down and none", err, failures)
			}
		})
	})
}

func TestCloseWhileTheFirstEventIsAwaited(t *testing.T) {
	t.Parallel()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	compressed := string(z.EncodeAll([]byte(": hi\n\n"), nil))
	for name, part := range map[string]string{"nothing has come": "", "a comment has come": compressed, "half a frame has come": compressed[:len(compressed)/2]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				res := open(t, call(target(t, upstream.Spec{Builtin: pieces{parts: []string{part}, open: true, encoding: "zstd"}}), streamed, nil))
				if out := res.Peek(); out.State != "" {
					t.Errorf("Peek = %s, want none: the stream goes on", out.State)
				}
			}) // the end closes the response; the race detector sees a decoder that is freed while it reads
		})
	}
}
