package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/wire"
)

const done = "data: [DONE]\n\n"

func delta(text string) string {
	return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}` + "\n\n"
}

func meter(t *testing.T, p mooring.Protocol, stream string) *wire.Meter {
	t.Helper()
	m := wire.NewMeter(p, wire.MeterLimits{})
	feed(t, m, []byte(stream), max(1, len(stream)))
	return m
}

func textOf(p mooring.Protocol, m *wire.Meter) string {
	_, text := wire.Render(p, m.Answer().Message)
	return text
}

func TestMeterReadsOddFrames(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ stream, text string }{
		"no space behind the colon (C042)":          {strings.ReplaceAll(delta("hi")+done, "data: ", "data:"), "hi"},
		"comments are no events (C051)":             {": OPENROUTER PROCESSING\n\n:\n\n: [DONE]\n\n" + delta("hi") + ": [DONE]\n\n" + delta(" you") + done, "hi you"},
		"empty, null and no choices (C055)":         {`data: {"choices":[]}` + "\n\n" + `data: {"choices":null}` + "\n\n" + `data: {"id":"x"}` + "\n\n" + delta("hi") + done, "hi"},
		"several data lines are one text":           {"data: {\"choices\":[{\ndata: \"delta\":{\"content\":\"hi\"}}]}\n\n" + done, "hi"},
		"CRLF":                                      {strings.ReplaceAll(delta("hi")+done, "\n", "\r\n"), "hi"},
		"CR alone, with something behind":           {strings.ReplaceAll(delta("hi")+done, "\n", "\r") + ":", "hi"},
		"a byte order mark":                         {"\ufeff" + delta("hi") + done, "hi"},
		"a mark before a comment":                   {"\ufeff: x\n\n" + delta("hi") + done, "hi"},
		"another choice is left out":                {`data: {"choices":[{"index":1,"delta":{"content":"no"}}]}` + "\n\n" + delta("hi") + done, "hi"},
		"a terminator without a blank line":         {delta("hi") + "data: [DONE]\n", "hi"},
		"a terminator without a line end":           {delta("hi") + "data: [DONE]", "hi"},
		"data that is no JSON is passed over":       {"data: oops\n\n" + delta("hi") + done, "hi"},
		"lists of parts as content":                 {`data: {"choices":[{"delta":{"content":[{"type":"text","text":"hi"}]}}]}` + "\n\n" + done, "hi"},
		"half surrogates are joined":                {delta(`\ud83d`) + delta(`\ude42`) + done, "🙂"},
		"a half surrogate alone is replaced":        {delta(`a\ud83d`) + done, "a\ufffd"},
		"NUL is kept, and shown by its sign (C088)": {delta(`a\u0000b`) + done, "a\u2400b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := meter(t, mooring.Chat, tt.stream)
			if got := textOf(mooring.Chat, m); got != tt.text || !m.Ending() || !m.Complete() || !m.Answer().Ended {
				t.Errorf("text %q, ending %v, terminal %v; want %q, true, true", got, m.Ending(), m.Terminal(), tt.text)
			}
		})
	}
}

func TestMeterKeepsTextCutAtEveryByte(t *testing.T) {
	t.Parallel()
	m := wire.NewMeter(mooring.Chat, wire.MeterLimits{})
	feed(t, m, []byte(delta("你好🙂é")+done), 1) // C040
	if got := textOf(mooring.Chat, m); got != "你好🙂é" {
		t.Errorf("text = %q", got)
	}
}

func TestMeterPassesWholeEventsOnly(t *testing.T) {
	t.Parallel()
	m := wire.NewMeter(mooring.Chat, wire.MeterLimits{})
	first, second := delta("one"), delta("two")
	for i, step := range []struct{ chunk, held, fresh string }{
		{first + second[:20], "", first},
		{second[20:30], "", ""},
		{second[30:] + ": ping\n", second + ": ping\n", ""},
		{": half a com", "", ""},
		{"ment\n\ndata: {", ": half a comment\n\n", ""},
		{"}\n\n" + done + ": behind", "data: {}\n\n", ""},
		{" it\n\n", "", ""},
	} {
		pass, err := m.Feed([]byte(step.chunk))
		if err != nil {
			t.Fatal(err)
		}
		if string(pass.Held) != step.held || string(pass.Fresh) != step.fresh {
			t.Errorf("step %d: held %q, fresh %q; want %q, %q", i, pass.Held, pass.Fresh, step.held, step.fresh)
		}
	}
	if got, want := string(m.Tail()), done+": behind it\n\n"; got != want {
		t.Errorf("Tail = %q, want %q", got, want)
	}
}

func TestMeterHoldsBackHalfAnEvent(t *testing.T) { // C049
	t.Parallel()
	for name, tt := range map[string]struct{ cut, remainder string }{
		"cut between events": {delta("half"), ""},
		"cut in a line":      {delta("half") + `data: {"choices":[{"de`, `data: {"choices":[{"de`},
		"cut before a blank": {delta("half") + "data: {}\n", "data: {}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := meter(t, mooring.Chat, tt.cut)
			if got := string(m.Remainder()); got != tt.remainder || m.Terminal() || m.Tail() != nil {
				t.Errorf("Remainder = %q, terminal %v; want %q, false", got, m.Terminal(), tt.remainder)
			}
			if got := textOf(mooring.Chat, m); got != "half" {
				t.Errorf("text = %q, want half", got)
			}
		})
	}
}

func TestMeterFinishedWithoutTerminator(t *testing.T) { // C044
	t.Parallel()
	m := meter(t, mooring.Chat, delta("hi")+`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n")
	if !m.Finished() || m.Terminal() || string(m.Terminator()) != done {
		t.Errorf("Finished %v, Terminal %v, Terminator %q; want true, false, [DONE]", m.Finished(), m.Terminal(), m.Terminator())
	}
	stop := string(meter(t, mooring.Messages, "").Terminator())
	if m := meter(t, mooring.Messages, stop); !m.Terminal() {
		t.Errorf("the terminator %q of messages is not read as one", stop)
	}
}

func TestMeterCompletesATerminatorThatLacksItsBlankLine(t *testing.T) {
	t.Parallel()
	const stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}"
	for name, tt := range map[string]struct {
		p         mooring.Protocol
		end, tail string
	}{
		"no line end":            {mooring.Chat, "data: [DONE]", done},
		"one line end":           {mooring.Chat, "data: [DONE]\n", done},
		"one CRLF":               {mooring.Chat, "data: [DONE]\r\n", "data: [DONE]\r\n\n"},
		"a CR that may be half":  {mooring.Chat, "data: [DONE]\r", "data: [DONE]\r\n\n"},
		"a blank line of CR":     {mooring.Chat, "data: [DONE]\r\r", "data: [DONE]\r\r"},
		"messages":               {mooring.Messages, stop, stop + "\n\n"},
		"messages, one line end": {mooring.Messages, stop + "\n", stop + "\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := meter(t, tt.p, tt.end)
			if m.Terminal() || !m.Ending() || m.Tail() != nil {
				t.Errorf("before: Terminal %v, Ending %v, Tail %q; want false, true, none", m.Terminal(), m.Ending(), m.Tail())
			}
			if !m.Complete() || string(m.Tail()) != tt.tail {
				t.Errorf("Complete: Terminal %v, Tail %q; want true, %q", m.Terminal(), m.Tail(), tt.tail)
			}
		})
	}
	t.Run("the blank line may come by itself", func(t *testing.T) {
		t.Parallel()
		m := meter(t, mooring.Chat, delta("hi")+"data: [DONE]\n")
		if _, err := m.Feed([]byte("\n")); err != nil || !m.Terminal() || string(m.Tail()) != done {
			t.Errorf("Feed: %v; Terminal %v, Tail %q; want true, [DONE]", err, m.Terminal(), m.Tail())
		}
	})
	t.Run("another event is not completed", func(t *testing.T) {
		t.Parallel()
		m := meter(t, mooring.Chat, "data: {}\n")
		if m.Complete() || m.Ending() || string(m.Remainder()) != "data: {}\n" {
			t.Errorf("Terminal %v, Ending %v, Remainder %q; want an event that is not whole", m.Terminal(), m.Ending(), m.Remainder())
		}
	})
}

func TestMeterHoldsAnErrorBack(t *testing.T) {
	t.Parallel()
	const (
		chatError     = `data: {"error":{"message":"no","type":"server_error","code":"x"}}` + "\n\n"
		finishError   = `data: {"error":{"code":502},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}` + "\n\n"
		messagesError = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n"
		text          = "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n"
	)
	for name, tt := range map[string]struct {
		p            mooring.Protocol
		passes, held string
		terminal     bool
	}{
		"chat":                            {mooring.Chat, delta("hi"), chatError, false},
		"chat, with its terminator":       {mooring.Chat, delta("hi"), chatError + done, true},
		"chat, with something between":    {mooring.Chat, delta("hi"), chatError + ": ping\n\n" + delta("more") + done, true},
		"chat, in a chunk that finishes":  {mooring.Chat, delta("hi"), finishError + done, true},
		"messages":                        {mooring.Messages, text, messagesError, false},
		"messages, with a ping behind it": {mooring.Messages, text, messagesError + "event: ping\ndata: {}\n\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for size := 1; size <= len(tt.passes+tt.held); size++ {
				m := wire.NewMeter(tt.p, wire.MeterLimits{})
				feed(t, m, []byte(tt.passes+tt.held), size)
				if string(m.Tail()) != tt.held || m.Terminal() != tt.terminal || !m.Ending() || !m.Failed() {
					t.Fatalf("in pieces of %d: Tail %q, Terminal %v, Ending %v, Failed %v; want %q, %v, true, true",
						size, m.Tail(), m.Terminal(), m.Ending(), m.Failed(), tt.held, tt.terminal)
				}
			}
		})
	}
}

func TestMeterFinishesWithEveryChoice(t *testing.T) {
	t.Parallel()
	say := func(index int) string {
		return fmt.Sprintf(`data: {"choices":[{"index":%d,"delta":{"content":"a"},"finish_reason":null}]}`+"\n\n", index)
	}
	stop := func(index int) string {
		return fmt.Sprintf(`data: {"choices":[{"index":%d,"delta":{},"finish_reason":"stop"}]}`+"\n\n", index)
	}
	for name, tt := range map[string]struct {
		stream string
		want   bool
	}{
		"one choice that goes on":           {say(0), false},
		"one choice":                        {say(0) + stop(0), true},
		"the second goes on":                {say(0) + say(1) + stop(0), false},
		"the second begins later":           {say(0) + stop(0) + say(1), false},
		"both":                              {say(0) + stop(0) + say(1) + stop(1), true},
		"the second first":                  {say(1) + stop(1), false},
		"text behind a finish":              {say(0) + stop(0) + say(0), true},
		"a choice beyond what can be asked": {say(0) + stop(0) + say(1<<40), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := meter(t, mooring.Chat, tt.stream).Finished(); got != tt.want {
				t.Errorf("Finished = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestMeterLargeEvents(t *testing.T) { // C054
	t.Parallel()
	for _, size := range []int{70_000, 1_200_000, 12_000_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			m := wire.NewMeter(mooring.Chat, wire.MeterLimits{MaxEvent: 16 << 20, MaxAnswer: 64 << 20})
			feed(t, m, []byte(delta(strings.Repeat("A", size))+delta("end")+`data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`+"\n\n"+done), 32<<10)
			a := m.Answer()
			if len(textOf(mooring.Chat, m)) != size+3 || a.Usage.Output != mooring.Count(2) || !a.Ended {
				t.Errorf("text of %d bytes, usage %v, ended %v", len(textOf(mooring.Chat, m)), a.Usage, a.Ended)
			}
		})
	}
}

func TestMeterLimits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limits wire.MeterLimits
		stream string
	}{
		"an event that does not end":  {wire.MeterLimits{MaxEvent: 1000}, "data: " + strings.Repeat("A", 2000)},
		"an answer that does not end": {wire.MeterLimits{MaxAnswer: 2000}, strings.Repeat(delta("abcdefgh"), 300)},
		"bytes behind the terminator": {wire.MeterLimits{MaxEvent: 1000}, done + strings.Repeat(": x\n\n", 500)},
		"bytes behind an error":       {wire.MeterLimits{MaxEvent: 1000}, `data: {"error":"no"}` + "\n\n" + strings.Repeat(": x\n\n", 500)},
		"a flood of empty tool calls": {wire.MeterLimits{MaxAnswer: 2000}, strings.Repeat(`data: {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"a"},{"index":1,"id":"b"}]}}]}`+"\n\n", 20)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := wire.NewMeter(mooring.Chat, tt.limits)
			var err error
			for rest := []byte(tt.stream); err == nil && len(rest) > 0; {
				n := min(64, len(rest))
				_, err = m.Feed(rest[:n])
				rest = rest[n:]
			}
			if mooring.CodeOf(err) != mooring.CodeUpstreamError {
				t.Errorf("Feed error = %v, want upstream_error", err)
			}
		})
	}
}

func TestMeterClasses(t *testing.T) {
	t.Parallel()
	const (
		chatError = `data: {"error":{"message":"no","type":"server_error","code":"x"}}` + "\n\n"
		role      = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n"
		start     = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n"
		block     = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
		tool      = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}}\n\n"
	)
	for name, tt := range map[string]struct {
		p      mooring.Protocol
		stream string
		want   wire.EventClass
	}{
		"a comment":                        {mooring.Chat, ": hi\n\n", wire.None},
		"half an event":                    {mooring.Chat, "data: {", wire.None},
		"a role":                           {mooring.Chat, role, wire.Opening},
		"no choices":                       {mooring.Chat, `data: {"choices":[]}` + "\n\n", wire.Opening},
		"text":                             {mooring.Chat, role + delta("a"), wire.Content},
		"a tool call":                      {mooring.Chat, `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a"}]}}]}` + "\n\n", wire.Content},
		"a finish":                         {mooring.Chat, `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n", wire.Content},
		"an event of another kind":         {mooring.Chat, "event: lamp.progress\ndata: {\"a\":1}\n\n", wire.Content},
		"an error":                         {mooring.Chat, role + chatError + done, wire.Error},
		"an error after text":              {mooring.Chat, delta("a") + chatError, wire.Content},
		"a finish with its error":          {mooring.Chat, `data: {"id":"c","error":{"code":502},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}` + "\n\n", wire.Error},
		"an error with text":               {mooring.Chat, `data: {"error":{"code":502},"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n", wire.Content},
		"an error without choices":         {mooring.Chat, `data: {"error":{"code":502},"choices":[]}` + "\n\n", wire.Error},
		"the end":                          {mooring.Chat, role + done, wire.End},
		"a ping":                           {mooring.Messages, "event: ping\ndata: {\"type\":\"ping\"}\n\n", wire.None},
		"a message's start":                {mooring.Messages, start + block, wire.Opening},
		"a tool block":                     {mooring.Messages, start + tool, wire.Content},
		"a message's error":                {mooring.Messages, "event: error\ndata: {\"type\":\"error\",\"error\":{}}\n\n", wire.Error},
		"a message's error without name":   {mooring.Messages, "data: {\"type\":\"error\",\"error\":{}}\n\n", wire.Error},
		"a message's stop":                 {mooring.Messages, start + "event: message_stop\ndata: {}\n\n", wire.End},
		"a message's stop, no name (C061)": {mooring.Messages, "data: {\"type\":\"message_stop\"}\n\n", wire.End},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pass, err := wire.NewMeter(tt.p, wire.MeterLimits{}).Feed([]byte(tt.stream))
			if err != nil || pass.Event != tt.want {
				t.Errorf("Feed = class %d, %v; want %d", pass.Event, err, tt.want)
			}
		})
	}
}

func TestMeterToolCallsOfServersThatCountBadly(t *testing.T) {
	t.Parallel()
	for name, calls := range map[string]string{
		"pieces that alternate (C059)": `{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}},{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}},{"index":0,"function":{"arguments":":1}"}}`,
		"every index 0":                `{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}},{"index":0,"function":{"arguments":":1}"}},{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}`,
		"no index":                     `{"id":"a","function":{"name":"f","arguments":"{\"x\""}},{"function":{"arguments":":1}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}`,
		"the later index first":        `{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}},{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := meter(t, mooring.Chat, `data: {"choices":[{"delta":{"tool_calls":[`+calls+`]}}]}`+"\n\n")
			want := `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}`
			if diff := cmp.Diff(want, string(m.Answer().Message)); diff != "" {
				t.Errorf("Message (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAssemble(t *testing.T) { // C057
	t.Parallel()
	for name, tt := range map[string]struct {
		p            mooring.Protocol
		stream, want string
	}{
		"chat": {
			mooring.Chat, `data: {"id":"c1","created":17,"model":"lamp","choices":[{"index":0,"delta":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"x":1}}` + "\n\n" + done,
			`{"id":"c1","object":"chat.completion","created":17,"model":"lamp","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"x":1}}`,
		},
		"messages": {
			mooring.Messages, `data: {"type":"message_start","message":{"id":"m1","model":"lamp","usage":{"input_tokens":3,"output_tokens":1}}}` + "\n\n" +
				`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}` + "\n\n" +
				`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}` + "\n\n",
			`{"id":"m1","type":"message","role":"assistant","model":"lamp","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":9}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := meter(t, tt.p, tt.stream).Assemble()
			if err != nil || string(got) != tt.want {
				t.Errorf("Assemble = %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

func TestAssembleRefusesHalfAnAnswer(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"nothing":  "",
		"no end":   delta("half"),
		"an error": delta("half") + `data: {"error":"out of oil"}` + "\n\n" + done,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := meter(t, mooring.Chat, stream).Assemble(); err == nil {
				t.Errorf("Assemble = %s, want an error", got)
			}
		})
	}
}

func TestErrorEvent(t *testing.T) {
	t.Parallel()
	for p, want := range map[mooring.Protocol]string{
		mooring.Chat:      "data: {\"error\":{\"message\":\"say \\\"hi\\\"\",\"type\":\"server_error\",\"param\":null,\"code\":\"upstream_error\"}}\n\n",
		mooring.Messages:  "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"say \\\"hi\\\"\"}}\n\n",
		mooring.Responses: "event: error\ndata: {\"type\":\"error\",\"code\":\"upstream_error\",\"message\":\"say \\\"hi\\\"\",\"param\":null,\"sequence_number\":0}\n\n",
	} {
		got := wire.ErrorEvent(p, mooring.CodeUpstreamError, `say "hi"`)
		if string(got) != want {
			t.Errorf("ErrorEvent(%s) = %q, want %q", p, got, want)
		}
		m := wire.NewMeter(p, wire.MeterLimits{})
		if classes := feed(t, m, got, len(got)); !slices.Equal(classes, []wire.EventClass{wire.Error}) || m.Answer().Err == nil {
			t.Errorf("%s: read back as %v, %v; want an error", p, classes, m.Answer().Err)
		}
	}
}

func TestLooksLikeSSE(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]bool{
		"data: {}": true, "data:{}": true, "event: x": true, ": hi": true, "id: 1": true, "retry: 1": true,
		"\ufeffdata: x": true, "\n\ndata: x": true,
		"": false, "{\"data\":1}": false, " [1]": false, "\"data:\"": false, "null": false, "<html>": false,
	} {
		if got := wire.LooksLikeSSE([]byte(prefix)); got != want {
			t.Errorf("LooksLikeSSE(%q) = %v, want %v", prefix, got, want)
		}
	}
}

func TestDecodeAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		p    mooring.Protocol
		body string
		want wire.Answer
	}{
		"chat": {
			mooring.Chat, `{"id":"c","model":"lamp","choices":[{"index":0,"message":{"role":"assistant","content":"hi","refusal":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`,
			wire.Answer{ID: "c", Model: "lamp", Ended: true, Finish: "stop", Message: []byte(`{"role":"assistant","content":"hi","refusal":null}`), Usage: mooring.Usage{Input: mooring.Count(6), Output: mooring.Count(2), CacheRead: mooring.Count(4)}},
		},
		"no usage is unknown, never 0": {
			mooring.Chat, `{"choices":[{"message":{"content":""}}],"usage":null}`,
			wire.Answer{Ended: true, Message: []byte(`{"content":""}`)},
		},
		"messages": {
			mooring.Messages, `{"id":"m","model":"lamp","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}}`,
			wire.Answer{
				ID: "m", Model: "lamp", Ended: true, Finish: "end_turn", Message: []byte(`{"role":"assistant","content":[{"type":"text","text":"hi"}]}`),
				Usage: mooring.Usage{Input: mooring.Count(1), Output: mooring.Count(2), CacheRead: mooring.Count(3), CacheWrite5m: mooring.Count(4)},
			},
		},
		"an error inside a 200":               {mooring.Chat, `{"error":{"message":"no","type":"t","code":7}}`, wire.Answer{Err: &wire.AnswerError{Type: "t", Code: "7", Message: "no"}}},
		"an error inside a 200, messages":     {mooring.Messages, `{"type":"error","error":{"type":"t","message":"no"}}`, wire.Answer{Err: &wire.AnswerError{Type: "t", Message: "no"}}},
		"an object of another kind has ended": {mooring.Chat, `{}`, wire.Answer{Ended: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := wire.DecodeAnswer(tt.p, []byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("DecodeAnswer (-want +got):\n%s", diff)
			}
		})
	}
	for _, body := range []string{``, `<html>`, `[1]`, `{"a":`, `data: {}`} {
		if _, err := wire.DecodeAnswer(mooring.Chat, []byte(body)); err == nil {
			t.Errorf("DecodeAnswer(%q): no error", body)
		}
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		p                    mooring.Protocol
		message, parts, text string
	}{
		"a string is one part":       {mooring.Chat, `{"role":"user","content":"hi"}`, `[{"type":"text","text":"hi"}]`, "hi"},
		"null is none":               {mooring.Chat, `{"role":"assistant","content":null}`, `[]`, ""},
		"an image is a line":         {mooring.Chat, `{"content":[{"type":"text","text":"what"},{"type":"image_url","image_url":{"url":"x"}}]}`, `[{"type":"text","text":"what"},{"type":"image_url","image_url":{"url":"x"}}]`, "what\n[screenshot]"},
		"a file is a line":           {mooring.Chat, `{"content":[{"type":"text","text":"read"},{"type":"file","file":{"filename":"plan.pdf"}}]}`, `[{"type":"text","text":"read"},{"type":"file","file":{"filename":"plan.pdf"}}]`, "read\n[file: plan.pdf]"},
		"a document is a file":       {mooring.Messages, `{"content":[{"type":"document","title":"plan.pdf"}]}`, `[{"type":"document","title":"plan.pdf"}]`, "[file: plan.pdf]"},
		"thinking is left out":       {mooring.Messages, `{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}]}`, `[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}]`, "a"},
		"a tool's result is text":    {mooring.Messages, `{"content":[{"type":"tool_result","content":"a"},{"type":"tool_result","content":[{"type":"text","text":"b"},{"type":"image"}]}]}`, `[{"type":"tool_result","content":"a"},{"type":"tool_result","content":[{"type":"text","text":"b"},{"type":"image"}]}]`, "a\nb\n[screenshot]"},
		"tool calls are parts":       {mooring.Chat, `{"content":"a","tool_calls":[{"id":"c","type":"function","function":{"name":"f"}}]}`, `[{"type":"text","text":"a"},{"type":"tool_call","id":"c","function":{"name":"f"}}]`, "a"},
		"tool use is no text":        {mooring.Messages, `{"content":[{"type":"tool_use","name":"f","input":{}}]}`, `[{"type":"tool_use","name":"f","input":{}}]`, ""},
		"NUL gets its sign (C088)":   {mooring.Chat, `{"content":"a\u0000b"}`, `[{"type":"text","text":"a\u0000b"}]`, "a\u2400b"},
		"what is no JSON is nothing": {mooring.Chat, `{"content":`, `[]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts, text := wire.Render(tt.p, []byte(tt.message))
			if string(parts) != tt.parts || text != tt.text {
				t.Errorf("Render = %s, %q\nwant %s, %q", parts, text, tt.parts, tt.text)
			}
			if !json.Valid(parts) {
				t.Errorf("Render gives %s, which is no JSON", parts)
			}
		})
	}
}

func TestOtherProtocolsAreSaidToBeMissing(t *testing.T) {
	t.Parallel()
	if _, err := wire.Decode(mooring.API, []byte(`{}`), limits); mooring.CodeOf(err) != mooring.CodeInvalidRequest {
		t.Errorf("Decode error = %v, want invalid_request", err)
	}
	m := wire.NewMeter(mooring.API, wire.MeterLimits{})
	stream := []byte("event: x\ndata: {}\n\n")
	pass, err := m.Feed(stream)
	if err != nil || !bytes.Equal(pass.Fresh, stream) || m.Terminal() || m.Answer().Message != nil {
		t.Errorf("Feed = %q, %v; want the stream to pass unread", pass.Fresh, err)
	}
}
