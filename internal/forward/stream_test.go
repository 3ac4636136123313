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

	textEnd     = `data: {"choices":[{"index":0,"text":"","finish_reason":"stop"}]}` + "\n\n"
	respCreated = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\"}}\n\n"
	respOpens   = "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"message\",\"content\":[]}}\n\n"
	respText    = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\n\n"
	respEnd     = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n"
	respFailed  = "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"x\"}}}\n\n"
	respError   = "event: error\ndata: {\"type\":\"error\",\"code\":\"x\",\"message\":\"out of oil\"}\n\n"
)

func textOf(text string) string {
	return `data: {"choices":[{"index":0,"text":"` + text + `","finish_reason":null}]}` + "\n\n"
}

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
	const (
		failure     = `data: {"error":{"message":"`
		respFailure = "event: error\ndata: {\"type\":\"error\",\"code\":\"upstream_error\""
	)
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
		"an error of completions gets its mark":      {mooring.Completions, pieces{0, []string{textOf("a"), chatError}, false, ""}, mooring.Failed, textOf("a"), chatError + done},
		"the mark of completions that never comes":   {mooring.Completions, pieces{0, []string{textOf("a"), textEnd}, true, ""}, mooring.Completed, textOf("a") + textEnd, done},
		"the end of a response, with its data":       {mooring.Responses, pieces{0, []string{respText, respEnd}, true, ""}, mooring.Completed, respText, respEnd},
		"a response that stops short":                {mooring.Responses, pieces{0, []string{respText}, false, ""}, mooring.Failed, respText, respFailure},
		"a response without its blank line":          {mooring.Responses, pieces{0, []string{respText, strings.TrimSpace(respEnd)}, false, ""}, mooring.Completed, respText, respEnd},
		"a response whose blank line never comes":    {mooring.Responses, pieces{0, []string{respText, strings.TrimSpace(respEnd)}, true, ""}, mooring.Completed, respText, respEnd},
		"a response that failed":                     {mooring.Responses, pieces{0, []string{respText, respFailed}, true, ""}, mooring.Failed, respText, respFailed},
		"an error of a response, then its failure":   {mooring.Responses, pieces{linger / 3, []string{respText, respError, respFailed}, true, ""}, mooring.Failed, respText, respError + respFailed},
		"an error of a response ends its stream":     {mooring.Responses, pieces{0, []string{respText, respError}, false, ""}, mooring.Failed, respText, respError},
		"an error of a response whose body stays":    {mooring.Responses, pieces{0, []string{respText, respError}, true, ""}, mooring.Failed, respText, respError},
		"an error first":                             {mooring.Chat, pieces{linger / 2, []string{": hi\n\n", chatError, done}, false, ""}, mooring.Failed, ": hi\n\n", chatError + done},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				out, client := copied(t, of.protocol, of.from)
				if diff := cmp.Diff(of.client, client); diff != "" {
					t.Errorf("client has before the commit (-want +got):\n%s", diff)
				}
				ok := string(out.Tail) == of.tail || (of.tail == failure || of.tail == respFailure) && strings.HasPrefix(string(out.Tail), of.tail)
				if out.State != of.state || !ok {
					t.Errorf("%s with tail %q, want %s with %q", out.State, out.Tail, of.state, of.tail)
				}
			})
		})
	}
}

// The header of a response is held for the first event that means something: a failure there is an early one.
func TestResponsesThatFailFirst(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		events []string
		early  bool
	}{
		"a failure":                          {[]string{respFailed}, true},
		"a failure behind what opens":        {[]string{respCreated, respOpens, respFailed}, true},
		"a failure without its blank line":   {[]string{respCreated, strings.TrimSpace(respFailed)}, true},
		"an error":                           {[]string{respCreated, respError}, true},
		"nothing but what opens":             {[]string{respCreated, respOpens}, true},
		"an empty answer":                    {[]string{respCreated, respEnd}, false},
		"an empty answer, no blank line":     {[]string{respCreated, strings.TrimSpace(respEnd)}, false},
		"a failure behind a piece of answer": {[]string{respCreated, respText, respFailed}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := call(target(t, upstream.Spec{Builtin: pieces{0, of.events, false, ""}}), streamed, nil)
				c.Protocol = mooring.Responses
				res := open(t, c)
				early := res.Peek()
				if early.Early != of.early || (early.State == mooring.Failed) != of.early {
					t.Errorf("Peek = %s, early %v; want early %v", early.State, early.Early, of.early)
				}
				var s sink
				out := res.Copy(&s)
				if all := s.String() + string(out.Tail); !strings.HasPrefix(all, strings.Join(of.events, "")) {
					t.Errorf("client gets %q, want all that came", all)
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
