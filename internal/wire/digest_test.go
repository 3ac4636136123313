package wire_test

import (
	"strings"
	"sync"
	"testing"

	"mooring"
	"mooring/internal/wire"
)

type mapCache struct {
	mu   sync.Mutex
	hits int
	m    map[[16]byte]wire.Known
}

func (c *mapCache) Get(key [16]byte) (wire.Known, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.m[key]
	if ok {
		c.hits++
	}
	return d, ok
}

func (c *mapCache) Set(key [16]byte, d wire.Known) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.m[key] = d
}

func digest(t *testing.T, p mooring.Protocol, raw string) wire.Digest {
	t.Helper()
	d, err := wire.NewDigester([]byte("a subkey"), nil).Message(p, []byte(raw))
	if err != nil {
		t.Fatalf("Message(%s): %v", raw, err)
	}
	return d
}

func TestDigestIgnoresWhatMeansNothing(t *testing.T) {
	t.Parallel()
	const c, m, rs, co = mooring.Chat, mooring.Messages, mooring.Responses, mooring.Completions
	for name, tt := range map[string]struct {
		p, q mooring.Protocol
		a, b string
	}{
		"cache marks":                {m, m, `{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}`, `{"role":"user","content":[{"type":"text","text":"hi"}]}`},
		"cache marks of a result":    {m, m, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x","cache_control":{}}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}]}]}`},
		"cache marks of a document":  {m, m, `{"role":"user","content":[{"type":"document","cache_control":{},"title":"x"}]}`, `{"role":"user","content":[{"title":"x","type":"document"}]}`},
		"text or one-part list":      {c, c, `{"role":"user","content":"hi"}`, `{"content":[{"text":"hi","type":"text"}],"role":"user"}`},
		"protocol, for plain text":   {c, m, `{"role":"user","content":"hi"}`, `{"role":"user","content":[{"type":"text","text":"hi"}]}`},
		"protocol, for an image":     {c, m, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`, `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}`},
		"empty text parts":           {m, m, `{"role":"user","content":[{"type":"text","text":" "},{"type":"text","text":"hi"}]}`, `{"role":"user","content":"hi"}`},
		"outer white space":          {c, c, `{"role":"user","content":"\n hi\t"}`, `{"role":"user","content":"hi"}`},
		"Unicode form":               {c, c, `{"role":"user","content":"e\u0301"}`, `{"role":"user","content":"é"}`},
		"escapes":                    {c, c, `{"role":"user","content":"\u0068\/"}`, `{"role":"user","content":"h/"}`},
		"order of argument keys":     {c, c, call(`{\"a\":1,\"b\":[2, 3]}`), call(`{ \"b\": [2,3],\"a\":1.0}`)},
		"order of input keys":        {m, m, `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"a":1,"b":2}}]}`, `{"role":"assistant","content":[{"input":{"b":2, "a":1},"name":"f","id":"t","type":"tool_use"}]}`},
		"empty or absent arguments":  {c, c, call(``), call(`{}`)},
		"null or empty content":      {c, c, `{"role":"assistant","content":null,"tool_calls":[]}`, `{"role":"assistant","content":""}`},
		"thinking":                   {m, m, `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"hi"}]}`, `{"role":"assistant","content":"hi"}`},
		"reasoning":                  {c, c, `{"role":"assistant","content":"hi","reasoning_content":"hm"}`, `{"role":"assistant","content":"hi"}`},
		"thinking in the text":       {c, c, `{"role":"assistant","content":"<think>hm</think>\n\nhi"}`, `{"role":"assistant","content":"hi"}`},
		"members that say nothing":   {c, c, `{"role":"assistant","content":"hi","refusal":null,"annotations":[],"audio":null,"function_call":null}`, `{"role":"assistant","content":"hi"}`},
		"order of members":           {c, c, `{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}],"content":"x","role":"assistant"}`, `{"role":"assistant","content":"x","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"c","type":"function"}]}`},
		"reminders in a user's text": {m, m, `{"role":"user","content":[{"type":"text","text":"<system-reminder>one</system-reminder>\n"},{"type":"text","text":"hi"}]}`, `{"role":"user","content":[{"type":"text","text":"hi\n<system-reminder>two</system-reminder>"}]}`},
		"billing lines":              {m, m, `{"role":"user","content":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1;"},{"type":"text","text":"hi"}]}`, `{"role":"user","content":"hi"}`},

		"cache marks of the message":         {c, c, `{"role":"user","content":"hi","cache_control":{"type":"ephemeral"}}`, `{"role":"user","content":"hi"}`},
		"cache marks inside a result":        {m, m, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},{"type":"search_result","source":"s","content":[{"type":"text","text":"y","cache_control":{"ttl":"1h"}}]}]}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"},{"type":"search_result","source":"s","content":[{"type":"text","text":"y"}]}]}]}`},
		"cache marks of a call and an image": {m, m, `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{},"cache_control":{}},{"type":"image","source":{"type":"url","url":"u"},"cache_control":{}}]}`, `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}},{"type":"image","source":{"type":"url","url":"u"}}]}`},
		"cache marks of an item":             {rs, rs, `{"role":"user","content":[{"type":"input_text","text":"hi","cache_control":{}}],"cache_control":{}}`, `"hi"`},

		"one text in parts":              {m, m, `{"role":"assistant","content":[{"type":"text","text":"Do"},{"type":"text","text":"ne, "},{"type":"text","text":"nearly"}]}`, `{"role":"assistant","content":"Done, nearly"}`},
		"parts joined by a line":         {c, c, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, `{"role":"user","content":"a\nb"}`},
		"parts joined by an empty line":  {c, c, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, `{"role":"user","content":"a\n\nb"}`},
		"parts of a result":              {c, c, `{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, `{"role":"tool","tool_call_id":"c","content":"ab"}`},
		"parts of an item":               {rs, rs, `{"role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]},{"type":"output_text","text":"b"}]}`, `[{"role":"assistant","content":"a"},{"type":"reasoning","summary":[]},{"role":"assistant","phase":"final","content":"b"}]`},
		"text around what is no part":    {m, m, `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"b"}]}`, `{"role":"assistant","content":"ab"}`},
		"citations":                      {m, m, `{"role":"assistant","content":[{"type":"text","text":"a","citations":[{"type":"char_location","cited_text":"z"}]},{"type":"text","text":"b","citations":null}]}`, `{"role":"assistant","content":[{"type":"text","text":"ab"}]}`},
		"what the server did by itself":  {m, m, `{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"encrypted_content":"x"}]},{"type":"text","text":"a"}]}`, `{"role":"assistant","content":"a"}`},
		"line ends":                      {c, c, `{"role":"user","content":"a\r\nb \t\nc\rd"}`, `{"role":"user","content":"a\nb\nc\nd"}`},
		"line ends of a result":          {m, m, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a\r\nb\r\n"}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a\nb"}]}`},
		"line ends of a prompt":          {co, co, `"a\r\nb"`, `["a\nb"]`},
		"outer white space of an answer": {rs, rs, `{"role":"assistant","content":[{"type":"output_text","text":"\n\nhi "}]}`, `{"role":"assistant","content":"hi"}`},
		"Unicode form of arguments":      {c, c, call(`{\"e\u0301\":1,\"f\":\"e\u0301\"}`), call(`{\"f\":\"é\",\"é\":1}`)},
		"Unicode form of a mark alone":   {c, c, `{"role":"user","content":[{"type":"text","text":"e"},{"type":"text","text":"\u0301"}]}`, `{"role":"user","content":"é"}`},

		"reminders of their own":         {m, m, `{"role":"user","content":[{"type":"text","text":"<system-reminder>a</system-reminder>\n<system-reminder>b</system-reminder>"},{"type":"text","text":"hi"},{"type":"text","text":"\n<system-reminder>c</system-reminder>"}]}`, `{"role":"user","content":"hi"}`},
		"reminders at start and end":     {c, c, `{"role":"user","content":"<system-reminder>a</system-reminder>\n\nhi\n<system-reminder>b</system-reminder>\n"}`, `{"role":"user","content":"hi"}`},
		"reminders in the middle":        {c, c, `{"role":"user","content":"one\n<system-reminder>\na\n</system-reminder>\n\ttwo <system-reminder>b</system-reminder> three"}`, `{"role":"user","content":"one\n\ttwo three"}`},
		"a reminder in a result":         {m, m, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x\n\n<system-reminder>a</system-reminder>"}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}`},
		"a reminder in a tool's message": {c, c, `{"role":"tool","tool_call_id":"c","content":"x<system-reminder>a</system-reminder>"}`, `{"role":"tool","tool_call_id":"c","content":"x"}`},
		"a reminder in an output":        {rs, rs, `{"type":"function_call_output","call_id":"c","output":"x\n<system-reminder>a</system-reminder>","status":"completed","id":"fco"}`, `{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"x"}]}`},
		"a reminder made by two":         {c, c, `{"role":"user","content":"a<system-<system-reminder>b</system-reminder>reminder>c</system-reminder>d"}`, `{"role":"user","content":"ad"}`},

		"arguments of an answer":     {rs, rs, `{"type":"function_call","id":"fc","status":"completed","call_id":"c","name":"f","arguments":"{\"b\":1e2, \"a\":\"\\/\"}"}`, `{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":\"/\",\"b\":100}"}`},
		"number forms":               {c, c, call(`{\"a\":100,\"b\":2.50,\"c\":0.001}`), call(`{\"a\":1e2,\"b\":2.5,\"c\":1E-3}`)},
		"arguments as an object":     {c, c, `{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"f","arguments":{"a":1}}}]}`, call(`{\"a\":1}`)},
		"input as a text":            {m, m, `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":"{\"a\": 1}"}]}`, `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]}`},
		"no input, null, or none":    {m, m, `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f"},{"type":"tool_use","id":"u","name":"f","input":null}]}`, `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}},{"type":"tool_use","id":"u","name":"f","input":{}}]}`},
		"no arguments of a function": {c, c, `{"role":"assistant","content":"","function_call":{"name":"f","arguments":""}}`, `{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}`},
		"content beside calls":       {c, c, `{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`, `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}],"refusal":null,"annotations":[],"audio":null,"function_call":null,"name":"x","reasoning_details":[{"type":"reasoning.encrypted"}]}`},
		"null content beside calls":  {c, c, `{"role":"assistant","content":[],"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]}`, call(`{}`)},
		"index of a custom call":     {c, c, `{"role":"assistant","tool_calls":[{"index":0,"id":"c","type":"custom","custom":{"name":"f","input":"x"}}]}`, `{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"input":"x","name":"f"}}]}`},
		"members of an item":         {rs, rs, `{"type":"message","id":"msg","status":"completed","phase":"final_answer","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[],"logprobs":[]}]}`, `{"role":"assistant","content":"a"}`},
		"members of a custom call":   {rs, rs, `{"type":"custom_tool_call","id":"ctc","status":"completed","call_id":"c","name":"f","input":"x"}`, `{"type":"custom_tool_call","call_id":"c","name":"f","input":"x"}`},
		"reasoning among items":      {rs, rs, `[{"type":"reasoning","id":"rs","encrypted_content":"x"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]`, `{"type":"function_call","call_id":"c","name":"f","arguments":""}`},
		"no error":                   {m, m, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":false,"content":"x"}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}`},

		"images written otherwise":   {c, m, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"DATA:image/jpg;base64,-_8","detail":"low"}}]}`, `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"+/\n8="}}]}`},
		"images as a plain URL":      {c, rs, `{"role":"user","content":[{"type":"image_url","image_url":"data:image/png;base64,AA=="}]}`, `{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA"}]}`},
		"order of parallel results":  {m, m, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"},{"type":"tool_result","tool_use_id":"b","content":"y"},{"type":"text","text":"go"}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"y"},{"type":"text","text":"go"},{"type":"tool_result","tool_use_id":"a","content":"x"}]}`},
		"developer or system":        {c, c, `{"role":"developer","content":"a"}`, `{"role":"system","content":"a"}`},
		"developer or system, items": {rs, rs, `{"role":"developer","content":[{"type":"input_text","text":"a"}]}`, `{"type":"message","role":"system","content":"a"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if a, b := digest(t, tt.p, tt.a), digest(t, tt.q, tt.b); a != b {
				t.Errorf("digests differ:\n%s\n%s", tt.a, tt.b)
			}
		})
	}
}

func call(arguments string) string {
	return `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"` + arguments + `"}}]}`
}

func TestDigestKeepsWhatMeansSomething(t *testing.T) {
	t.Parallel()
	const c, m = mooring.Chat, mooring.Messages
	for name, tt := range map[string]struct {
		p    mooring.Protocol
		a, b string
	}{
		"text":                         {c, `{"role":"user","content":"a"}`, `{"role":"user","content":"b"}`},
		"role":                         {c, `{"role":"user","content":"a"}`, `{"role":"assistant","content":"a"}`},
		"inner white space":            {c, `{"role":"user","content":"a b"}`, `{"role":"user","content":"a  b"}`},
		"images":                       {c, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,A"}}]}`, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,B"}}]}`},
		"image data":                   {m, `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}]}`, `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"BB"}}]}`},
		"arguments":                    {c, call(`{\"a\":1}`), call(`{\"a\":2}`)},
		"long integers":                {c, call(`{\"a\":9007199254740993}`), call(`{\"a\":9007199254740992}`)},
		"arguments that are no JSON":   {c, call(`{\"a\"`), call(`{\"b\"`)},
		"the call's id":                {c, call(`{}`), strings.Replace(call(`{}`), "c1", "c2", 1)},
		"the call that is answered":    {c, `{"role":"tool","tool_call_id":"a","content":"x"}`, `{"role":"tool","tool_call_id":"b","content":"x"}`},
		"reminders in an answer":       {c, `{"role":"assistant","content":"<system-reminder>a</system-reminder>"}`, `{"role":"assistant","content":"<system-reminder>b</system-reminder>"}`},
		"parts of kinds not known":     {m, `{"role":"user","content":[{"type":"sound","data":"a"}]}`, `{"role":"user","content":[{"type":"sound","data":"b"}]}`},
		"a refusal":                    {c, `{"role":"assistant","content":null,"refusal":"no"}`, `{"role":"assistant","content":null}`},
		"NUL (C088)":                   {c, `{"role":"user","content":"a\u0000b"}`, `{"role":"user","content":"ab"}`},
		"arguments nested very deeply": {c, call(strings.Repeat("[", 9000)), call(strings.Repeat("[", 8999))},
		"indentation":                  {c, `{"role":"user","content":"if a:\n  b"}`, `{"role":"user","content":"if a:\n    b"}`},
		"a line break for a blank":     {c, `{"role":"user","content":"a b"}`, `{"role":"user","content":"a\nb"}`},
		"blanks in arguments":          {c, call(`{\"a\":\"x\\ny\"}`), call(`{\"a\":\"xy\"}`)},
		"kinds of values in arguments": {c, call(`{\"a\":1}`), call(`{\"a\":\"1\"}`)},
		"null in arguments":            {c, call(`{\"a\":null}`), call(`{}`)},
		"cache_control in arguments":   {m, `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"cache_control":1}}]}`, `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}`},
		"the order of calls":           {m, `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}},{"type":"tool_use","id":"u","name":"f","input":{}}]}`, `{"role":"assistant","content":[{"type":"tool_use","id":"u","name":"f","input":{}},{"type":"tool_use","id":"t","name":"f","input":{}}]}`},
		"which result is which":        {m, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"},{"type":"tool_result","tool_use_id":"b","content":"y"}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"y"},{"type":"tool_result","tool_use_id":"b","content":"x"}]}`},
		"a result or what is said":     {m, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"text","text":"x"}]}`},
		"that a result is an error":    {m, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x","is_error":true}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`},
		"words between two reminders":  {c, `{"role":"user","content":"<system-reminder>a</system-reminder>one<system-reminder>b</system-reminder>"}`, `{"role":"user","content":"<system-reminder>a</system-reminder>two<system-reminder>b</system-reminder>"}`},
		"a reminder that is left open": {c, `{"role":"user","content":"<system-reminder>a"}`, `{"role":"user","content":"<system-reminder>b"}`},
		"images by their bytes":        {c, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAB"}}]}`},
		"images by their address":      {c, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a.example/1"}}]}`, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a.example/2"}}]}`},
		"where an image stands":        {c, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u"}}]}`, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}},{"type":"text","text":"a"}]}`},
		"the input of a custom call":   {mooring.Responses, `{"type":"custom_tool_call","call_id":"c","name":"f","input":"a\nb"}`, `{"type":"custom_tool_call","call_id":"c","name":"f","input":"ab"}`},
		"two prompts or one":           {mooring.Completions, `["a","b"]`, `["ab"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if a, b := digest(t, tt.p, tt.a), digest(t, tt.p, tt.b); a == b {
				t.Errorf("digests are equal:\n%.200s\n%.200s", tt.a, tt.b)
			}
		})
	}
}

func TestDigestOfAnswerIsEqualHoweverItCame(t *testing.T) {
	t.Parallel()
	for _, c := range cases(t) {
		if c.resent == nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := wire.NewDigester([]byte("k"), nil)
			m := wire.NewMeter(c.protocol, wire.MeterLimits{})
			feed(t, m, c.stream, 7)
			streamed, err := d.Message(c.protocol, m.Answer().Message)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := m.Assemble()
			if err != nil {
				t.Fatal(err)
			}
			a, err := wire.DecodeAnswer(c.protocol, whole)
			if err != nil {
				t.Fatal(err)
			}
			buffered, err := d.Message(c.protocol, a.Message)
			if err != nil {
				t.Fatal(err)
			}
			resent, err := d.Message(c.protocol, c.resent)
			if err != nil {
				t.Fatal(err)
			}
			if streamed != buffered || streamed != resent {
				t.Errorf("streamed %x, buffered %x, resent %x; want one digest\nstreamed %s\nresent %s", streamed, buffered, resent, m.Answer().Message, c.resent)
			}
		})
	}
}

func TestDigesterCaches(t *testing.T) {
	t.Parallel()
	cache := &mapCache{m: map[[16]byte]wire.Known{}}
	d := wire.NewDigester([]byte("k"), cache)
	messages := []wire.Message{{Role: "system", Raw: []byte(`{"role":"system","content":"x"}`)}, {Role: "user", Raw: []byte(`{"role":"user","content":"hi"}`)}}
	first, err := d.Messages(mooring.Chat, messages)
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.Messages(mooring.Chat, messages)
	if err != nil {
		t.Fatal(err)
	}
	if !first[0].Zero() || first[1].Zero() || first[1] != again[1] || cache.hits != 1 {
		t.Errorf("digests %x, then %x, with %d hits; want zero for the system message and one hit", first, again, cache.hits)
	}
	if _, err := d.Message(mooring.Chat, []byte(`{"role":`)); err == nil || len(cache.m) != 1 {
		t.Errorf("a broken message: error %v, %d entries; want an error and nothing cached", err, len(cache.m))
	}
}

func TestDigestsAreKeyedAndApart(t *testing.T) {
	t.Parallel()
	a, b := wire.NewDigester([]byte("a"), nil), wire.NewDigester([]byte("b"), nil)
	if a.Bytes([]byte("x")) == b.Bytes([]byte("x")) {
		t.Error("two tenants have one digest")
	}
	one := a.Bytes([]byte("x"))
	if a.Chain(wire.Digest{}, one) == a.Chain(one, one) || a.Chain(wire.Digest{}, one) == one {
		t.Error("a chain digest does not depend on what is above")
	}
	if a.Chain(one, one) != wire.NewDigester([]byte("a"), nil).Chain(one, one) {
		t.Error("a digest depends on more than its key")
	}
}

func TestDigesterIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	d := wire.NewDigester([]byte("k"), nil)
	want, err := d.Message(mooring.Chat, []byte(`{"role":"user","content":"hi"}`))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if got, err := d.Message(mooring.Chat, []byte(`{"role":"user","content":"hi"}`)); err != nil || got != want {
					t.Errorf("Message = %x, %v; want %x", got, err, want)
				}
			}
		})
	}
	wg.Wait()
}
