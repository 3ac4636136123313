package wire_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/wire"
)

// toldLine is a thing told, as a test writes it.
func toldLine(t wire.Told) string {
	switch t.Kind {
	case wire.ToldText:
		return "text " + t.Text
	case wire.ToldThinking:
		return "thinking " + t.Text
	case wire.ToldTool:
		return strings.TrimRight(fmt.Sprintf("%s %s %s %s %s", t.Tool.Phase, t.Tool.Name, t.Tool.CallID, t.Tool.Args, t.Tool.Preview), " ")
	}
	return "?"
}

func toldLines(list []wire.Told) []string {
	var out []string
	for _, t := range list {
		out = append(out, toldLine(t))
	}
	return out
}

func sse(events ...string) string {
	var out strings.Builder
	for _, e := range events {
		if name, data, ok := strings.Cut(e, "|"); ok {
			out.WriteString("event: " + name + "\n")
			e = data
		}
		out.WriteString("data: " + e + "\n\n")
	}
	return out.String()
}

func piece(d string) string { return `{"choices":[{"index":0,"delta":` + d + `}]}` }

func TestTellerStreams(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		protocol mooring.Protocol
		stream   string
		want     []string
	}{
		{
			"B8 content passes, the end of a stream does not", mooring.Chat,
			sse(piece(`{"role":"assistant","content":""}`), piece(`{"content":"ay "}`), piece(`{"content":"ay"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "[DONE]"),
			[]string{"text ay ", "text ay"},
		},
		{
			"B8 a frame of a tool's progress tells of the tool", mooring.Chat,
			sse(`hermes.tool.progress|{"tool":"terminal","emoji":"*","label":"ls","toolCallId":"c7","status":"running"}`, piece(`{"content":"so"}`)),
			[]string{"calling terminal c7  * ls", "text so"},
		},
		{
			"B8 several frames and content keep their order", mooring.Chat,
			sse(`claude.tool.progress|{"name":"read","tool_call_id":"c1","status":"running"}`, piece(`{"content":"a"}`),
				`hermes.tool.progress|{"tool":"read","toolCallId":"c1","status":"completed"}`, piece(`{"content":"b"}`),
				`hermes.tool.progress|{"tool":"write","toolCallId":"c2","status":"failed"}`),
			[]string{"calling read c1", "text a", "complete read c1", "text b", "error write c2"},
		},
		{
			"thinking is told once where a server sends it under two names", mooring.Chat,
			sse(piece(`{"reasoning":"hm","reasoning_content":"hm"}`), piece(`{"reasoning":"so"}`)),
			[]string{"thinking hm", "thinking so"},
		},
		{
			"a call begins with its name and is whole at the end", mooring.Chat,
			sse(piece(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"ls","arguments":""}}]}`), piece(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`),
				piece(`{"tool_calls":[{"index":1,"id":"c2","function":{"name":"cd","arguments":"{}"}}]}`), piece(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`),
				`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`),
			[]string{"start ls c1", "start cd c2", `calling ls c1 {"a":1}`, "calling cd c2 {}"},
		},
		{
			"another choice is not told", mooring.Chat,
			sse(`{"choices":[{"index":1,"delta":{"content":"other"}},{"index":0,"delta":{"content":"one"}}]}`),
			[]string{"text one"},
		},
		{
			"half a pair of escapes waits for its other half", mooring.Chat,
			sse(piece(`{"content":"a\ud83d"}`), piece(`{"content":"\ude00b"}`), piece(`{"content":"\\ud83d"}`)),
			[]string{"text a", "text 😀b", `text \ud83d`},
		},
		{
			"completions tell their text", mooring.Completions,
			sse(`{"choices":[{"index":0,"text":"ay"}]}`, "[DONE]"),
			[]string{"text ay"},
		},
		{
			"messages tell thinking, text, calls and what a server's own tool gave", mooring.Messages,
			sse(`message_start|{"type":"message_start","message":{"id":"m"}}`,
				`x|{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
				`x|{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
				`x|{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
				`x|{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"ay"}}`,
				`x|{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"ls","input":{}}}`,
				`x|{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"p\":1}"}}`,
				`x|{"type":"content_block_stop","index":2}`,
				`x|{"type":"content_block_start","index":3,"content_block":{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}}`,
				`message_stop|{"type":"message_stop"}`),
			[]string{"thinking hm", "text ay", "start ls t1", `calling ls t1 {"p":1}`, "complete web_search s1"},
		},
		{
			"responses tell text, summaries, calls and the server's own tools", mooring.Responses,
			sse(`x|{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"hm"}`,
				`x|{"type":"response.output_item.added","output_index":1,"item":{"type":"web_search_call","id":"ws"}}`,
				`x|{"type":"response.output_item.done","output_index":1,"item":{"type":"web_search_call","id":"ws","status":"completed"}}`,
				`x|{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"c1","name":"ls","arguments":""}}`,
				`x|{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"c1","name":"ls","arguments":"{\"p\":1}"}}`,
				`x|{"type":"response.output_text.delta","output_index":3,"delta":"ay"}`),
			[]string{"thinking hm", "start web_search ws", "calling web_search ws", "complete web_search ws", "start ls c1", `calling ls c1 {"p":1}`, "text ay"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, toldLines(wire.NewTeller(tt.protocol).Feed([]byte(tt.stream)))); diff != "" {
				t.Errorf("at once (-want +got):\n%s", diff)
			}
			var cut []string
			teller := wire.NewTeller(tt.protocol)
			for i := range tt.stream {
				cut = append(cut, toldLines(teller.Feed([]byte(tt.stream[i:i+1])))...)
			}
			if diff := cmp.Diff(tt.want, cut); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTellerWholeAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		protocol mooring.Protocol
		body     string
		want     []string
		failure  string
	}{
		{"chat", mooring.Chat, `{"choices":[{"index":0,"message":{"role":"assistant","content":"ay","reasoning_content":"hm","tool_calls":[{"id":"c","function":{"name":"ls","arguments":"{}"}}]}}]}`, []string{"thinking hm", "text ay", "start ls c", "calling ls c {}"}, ""},
		{"messages", mooring.Messages, `{"type":"message","content":[{"type":"text","text":"ay"},{"type":"tool_use","id":"t","name":"ls","input":{"p":"é"}}]}`, []string{"text ay", "start ls t", `calling ls t {"p":"é"}`}, ""},
		{"responses", mooring.Responses, `{"status":"completed","error":null,"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ay"}]},{"type":"function_call","call_id":"c","name":"ls","arguments":"{}"}]}`, []string{"text ay", "start ls c", "calling ls c {}"}, ""},
		{"completions", mooring.Completions, `{"choices":[{"text":"ay"}]}`, []string{"text ay"}, ""},
		{"an error of chat", mooring.Chat, `{"error":{"message":"no such rope"}}`, nil, "no such rope"},
		{"an error of messages", mooring.Messages, `{"type":"error","error":{"type":"x","message":"no such rope"}}`, nil, "no such rope"},
		{"no JSON", mooring.Chat, `<html>`, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			teller := wire.NewTeller(tt.protocol)
			if diff := cmp.Diff(tt.want, toldLines(teller.Whole([]byte(tt.body)))); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			got := ""
			if f := teller.Failure(); f != nil {
				got = f.Message
			}
			if got != tt.failure {
				t.Errorf("failure %q, want %q", got, tt.failure)
			}
		})
	}
}

// A stream tells the same text as the answer that is kept of it.
func TestTellerAgreesWithTheMeter(t *testing.T) {
	t.Parallel()
	streams, err := filepath.Glob("testdata/*/*/stream.sse")
	if err != nil || len(streams) < 10 {
		t.Fatalf("%d streams, %v", len(streams), err)
	}
	for _, path := range streams {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			p := mooring.Protocol(strings.Split(path, string(filepath.Separator))[1])
			meter := wire.NewMeter(p, wire.MeterLimits{})
			_, _ = meter.Feed(raw)
			var want, got bytes.Buffer
			for _, told := range wire.NewTeller(p).Feed(raw) {
				if told.Kind == wire.ToldText {
					got.WriteString(told.Text)
				}
			}
			if m := meter.Answer().Message; m != nil {
				_, text := wire.Render(p, m)
				want.WriteString(text)
			}
			plain := func(b *bytes.Buffer) string { return strings.Join(strings.Fields(b.String()), " ") }
			if plain(&got) != plain(&want) && strings.ReplaceAll(plain(&got), " ", "") != strings.ReplaceAll(plain(&want), " ", "") {
				t.Errorf("told %q, kept %q", got.String(), want.String())
			}
		})
	}
}
