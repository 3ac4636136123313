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
	const c, m = mooring.Chat, mooring.Messages
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
