package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/wire"
)

// respond is an event of responses, with its name.
func respond(name, members string) string {
	return fmt.Sprintf("event: response.%s\ndata: {\"type\":\"response.%s\",%s}\n\n", name, name, members)
}

const (
	respCreated   = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"model\":\"lamp\",\"status\":\"in_progress\",\"output\":[]}}\n\n"
	respText      = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\"hi\"}\n\n"
	respCompleted = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"hi\"}]}]}}\n\n"
	respFailed    = "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"output\":[],\"error\":{\"code\":\"x\",\"message\":\"no\"}}}\n\n"
	respError     = "event: error\ndata: {\"type\":\"error\",\"code\":\"x\",\"message\":\"no\",\"param\":null}\n\n"
)

func TestResponsesInput(t *testing.T) {
	t.Parallel()
	const (
		user     = `{"role":"user","content":"a"}`
		said     = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]}`
		call     = `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`
		result   = `{"type":"function_call_output","call_id":"c","output":"x"}`
		thought  = `{"type":"reasoning","summary":[]}`
		searched = `{"type":"web_search_call","status":"completed"}`
	)
	for name, tt := range map[string]struct {
		input string
		want  []string // role and raw message
	}{
		"a text is the user's":                         {`"a"`, []string{`user "a"`}},
		"an empty text is no message":                  {`""`, nil},
		"an empty list has none":                       {`[]`, nil},
		"null has none":                                {`null`, nil},
		"an object is the upstream's to judge":         {`{"role":"user"}`, nil},
		"an item with a role is a message":             {`[` + user + `]`, []string{"user " + user}},
		"instructions keep their role":                 {`[{"role":"developer","content":"x"}]`, []string{`developer {"role":"developer","content":"x"}`}},
		"an answer of one item is that item":           {`[` + user + `,` + said + `,` + user + `]`, []string{"user " + user, "assistant " + said, "user " + user}},
		"items of one answer are one message":          {`[` + user + `, ` + thought + ` , ` + said + `,` + call + `,` + result + `]`, []string{"user " + user, "assistant [" + thought + ` , ` + said + "," + call + "]", "tool " + result}},
		"each result is a message":                     {`[` + call + `,` + call + `,` + result + `,` + result + `]`, []string{"assistant [" + call + "," + call + "]", "tool " + result, "tool " + result}},
		"reasoning alone is no message":                {`[` + user + `,` + thought + `,` + user + `]`, []string{"user " + user, "user " + user}},
		"nor is what a server did on its own":          {`[` + user + `,` + searched + `,` + thought + `]`, []string{"user " + user}},
		"a stored item is referred to as an answer":    {`[` + user + `,{"type":"item_reference","id":"m"}]`, []string{"user " + user, `assistant {"type":"item_reference","id":"m"}`}},
		"a compaction stands where an answer stood":    {`[` + user + `,{"type":"compaction","encrypted_content":"e"}]`, []string{"user " + user, `assistant {"type":"compaction","encrypted_content":"e"}`}},
		"a call of a kind not known is the model's":    {`[{"type":"lamp_call"}]`, []string{`assistant {"type":"lamp_call"}`}},
		"a result of a kind not known is a tool's":     {`[{"type":"lamp_call_output"}]`, []string{`tool {"type":"lamp_call_output"}`}},
		"an approval is the user's":                    {`[{"type":"mcp_approval_response","approve":true}]`, []string{`user {"type":"mcp_approval_response","approve":true}`}},
		"the wish to compact does not join the answer": {`[` + said + `,{"type":"compaction_trigger"}]`, []string{"assistant " + said, `user {"type":"compaction_trigger"}`}},
		"a text in a list is the user's":               {`["a"]`, []string{`user "a"`}},
		"an escaped kind is read":                      {`[{"type":"\u0072easoning"},{"type":"message","r\u006fle":"user"}]`, []string{`user {"type":"message","r\u006fle":"user"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := []byte(`{"model":"lamp","input":` + tt.input + `}`)
			r, err := wire.Decode(mooring.Responses, body, limits)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range r.Messages {
				got = append(got, m.Role+" "+string(m.Raw))
				if !standsAt(body, m) {
					t.Errorf("%s is not at %d", m.Raw, m.At)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResponsesAndCompletionsTakeAndRefuse(t *testing.T) {
	t.Parallel()
	const r, c = mooring.Responses, mooring.Completions
	for name, tt := range map[string]struct {
		p    mooring.Protocol
		body string
		want mooring.Code
	}{
		"no input":                            {r, `{}`, ""},
		"a last item without text":            {r, `{"input":[{"role":"user","content":""}]}`, ""},
		"null content":                        {r, `{"input":[{"role":"assistant","content":null}]}`, ""},
		"a content that is an object":         {r, `{"input":[{"content":{"text":"secret-echo"},"role":"user"}]}`, mooring.CodeInvalidContent},
		"a content that is a number":          {r, `{"input":[{"type":"message","role":"user","content":7}]}`, mooring.CodeInvalidContent},
		"a content of another kind of item":   {r, `{"input":[{"content":{"a":1},"type":"lamp"}]}`, ""},
		"an input given twice":                {r, `{"input":"secret-echo","input":[]}`, mooring.CodeInvalidJSON},
		"a name given twice in an item":       {r, `{"input":[{"role":"user","role":"user"}]}`, mooring.CodeInvalidJSON},
		"an input that is cut":                {r, `{"input":[{"role":"user"},`, mooring.CodeInvalidJSON},
		"an item that nests too deeply":       {r, `{"input":[{"a":` + strings.Repeat("[", 18) + strings.Repeat("]", 18) + `}]}`, mooring.CodeInvalidJSON},
		"an input that nests too deeply":      {r, `{"input":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`, mooring.CodeInvalidJSON},
		"no prompt":                           {c, `{"model":"lamp"}`, ""},
		"an empty prompt":                     {c, `{"prompt":""}`, ""},
		"a prompt of tokens":                  {c, `{"prompt":[[1,2],[3]]}`, ""},
		"a prompt given twice":                {c, `{"prompt":"a","prompt":"b"}`, mooring.CodeInvalidJSON},
		"a prompt that nests too deeply":      {c, `{"prompt":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`, mooring.CodeInvalidJSON},
		"messages mean nothing in a response": {r, `{"messages":[{"role":"user","content":7}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wire.Decode(tt.p, []byte(tt.body), limits)
			if (err == nil) != (tt.want == "") || err != nil && mooring.CodeOf(err) != tt.want {
				t.Errorf("Decode error = %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret-echo") {
				t.Errorf("error %q echoes content", err)
			}
		})
	}
}

// answerDigest digests the answer of a request's history as Decode finds it.
func answerDigest(t *testing.T, items string) wire.Digest {
	t.Helper()
	r, err := wire.Decode(mooring.Responses, []byte(`{"input":[{"role":"user","content":"q"},`+items+`]}`), limits)
	if err != nil || len(r.Messages) != 2 {
		t.Fatalf("Decode = %d messages, %v; want the question and the answer", len(r.Messages), err)
	}
	return digest(t, mooring.Responses, string(r.Messages[1].Raw))
}

// What clients send back of one answer, each in its own way.
func TestDigestOfItemsThatClientsSendBack(t *testing.T) {
	t.Parallel()
	const (
		answer = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"e"},` +
			`{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q","sources":[]}},` +
			`{"id":"msg_1","type":"message","status":"completed","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"Looking now.","annotations":[{"type":"url_citation"}],"logprobs":[]}]},` +
			`{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"look","arguments":"{\"at\":\"river\",\"n\":1}"}`
		text = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Looking now."}]}`
		call = `{"type":"function_call","call_id":"call_1","name":"look","arguments":"{\"at\":\"river\",\"n\":1}"}`
		want = text + "," + call
	)
	buffered, err := wire.DecodeAnswer(mooring.Responses, []byte(`{"id":"resp_1","status":"completed","output":[`+answer+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	kept := digest(t, mooring.Responses, string(buffered.Message))
	for name, items := range map[string]string{
		"all of it":                           answer,
		"ids and status are dropped":          want,
		"reasoning is kept":                   `{"type":"reasoning","summary":[],"encrypted_content":"e"},` + want,
		"content as a string":                 `{"role":"assistant","content":"Looking now."},` + call,
		"no type":                             `{"role":"assistant","content":[{"type":"output_text","text":"Looking now."}]},` + call,
		"arguments written anew":              text + `,{"call_id":"call_1","name":"look","arguments":"{ \"n\": 1, \"at\": \"river\" }","type":"function_call"}`,
		"a namespace and another id":          text + `,{"type":"function_call","id":"fc_9","call_id":"call_1","name":"look","namespace":"n","arguments":"{\"at\":\"river\",\"n\":1}"}`,
		"outer white space":                   `{"role":"assistant","content":" Looking now.\n"},` + call,
		"the text in two items":               `{"role":"assistant","content":"Looking "},{"role":"assistant","content":"now."},` + call,
		"the text in two parts":               `{"role":"assistant","content":[{"type":"output_text","text":"Looking "},{"type":"output_text","text":"now."}]},` + call,
		"reasoning behind what was said":      want + `,{"type":"reasoning","summary":[]}`,
		"an item of text that holds nothing":  text + `,{"role":"assistant","content":[]},` + call,
		"what the server looked up is behind": text + `,{"type":"web_search_call"},` + call,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := answerDigest(t, items); got != kept {
				t.Errorf("digest of %s differs from the answer's", items)
			}
		})
	}
	for name, items := range map[string]string{
		"another text":           strings.Replace(want, "now", "then", 1),
		"another call id":        strings.Replace(want, "call_1", "call_2", 1),
		"other arguments":        strings.Replace(want, "river", "sea", 1),
		"a call left out":        text,
		"the call before":        call + "," + text,
		"a refusal in its place": strings.Replace(want, `"output_text","text"`, `"refusal","refusal"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := answerDigest(t, items); got == kept {
				t.Errorf("digest of %s is the answer's", items)
			}
		})
	}
}

func TestDigestOfResponsesAndCompletions(t *testing.T) {
	t.Parallel()
	const r, c, p = mooring.Responses, mooring.Chat, mooring.Completions
	const hi = `{"role":"user","content":"hi"}`
	for name, tt := range map[string]struct {
		p, q  mooring.Protocol
		a, b  string
		equal bool
	}{
		"a text and an item":           {r, r, `"hi"`, hi, true},
		"a text and a list of a part":  {r, r, `"hi"`, `{"type":"message","id":"msg_1","role":"user","content":[{"type":"input_text","text":"hi"}]}`, true},
		"chat and responses":           {c, r, hi, `"hi"`, true},
		"chat and responses, a call":   {c, r, call(`{}`), `{"type":"function_call","call_id":"c1","name":"f","arguments":""}`, true},
		"chat and responses, a result": {c, r, `{"role":"tool","tool_call_id":"a","content":"x"}`, `{"type":"function_call_output","id":"fco_1","call_id":"a","output":[{"type":"input_text","text":"x"}],"status":"completed"}`, true},
		"chat and responses, an image": {c, r, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,A"}}]}`, `{"role":"user","content":[{"type":"input_image","detail":"auto","image_url":"data:,A"}]}`, true},
		"a list of one item":           {r, r, `[{"role":"assistant","content":"hi"}]`, `{"role":"assistant","content":"hi"}`, true},
		"null members of an action":    {r, r, `{"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["ls"],"env":null}}`, `{"id":"l","type":"local_shell_call","call_id":"c","status":"completed","action":{"command":["ls"],"type":"exec"}}`, true},
		"an image's other members":     {r, r, `{"type":"image_generation_call","id":"i","result":"AA==","size":"1"}`, `{"type":"image_generation_call","result":"AA=="}`, true},
		"another command":              {r, r, `{"type":"local_shell_call","call_id":"c","action":{"command":["ls"]}}`, `{"type":"local_shell_call","call_id":"c","action":{"command":["rm"]}}`, false},
		"another free input":           {r, r, `{"type":"custom_tool_call","call_id":"c","name":"f","input":"a"}`, `{"type":"custom_tool_call","call_id":"c","name":"f","input":"b"}`, false},
		"another result":               {r, r, `{"type":"function_call_output","call_id":"a","output":"x"}`, `{"type":"function_call_output","call_id":"a","output":"y"}`, false},
		"another screenshot":           {r, r, `{"type":"computer_call_output","call_id":"a","output":{"type":"computer_screenshot","image_url":"x"}}`, `{"type":"computer_call_output","call_id":"a","output":{"type":"computer_screenshot","image_url":"y"}}`, false},
		"a result that is an object":   {r, r, `{"type":"lamp_call_output","call_id":"a","output":{"on":true}}`, `{"type":"lamp_call_output","call_id":"a","output":{"on":false}}`, false},
		"another file":                 {r, r, `{"role":"user","content":[{"type":"input_file","file_id":"a"}]}`, `{"role":"user","content":[{"type":"input_file","file_id":"b"}]}`, false},
		"another compaction":           {r, r, `{"type":"compaction","id":"a","encrypted_content":"e"}`, `{"type":"compaction","id":"a","encrypted_content":"f"}`, false},
		"a compaction's id":            {r, r, `{"type":"compaction","id":"a","encrypted_content":"e"}`, `{"type":"compaction","encrypted_content":"e"}`, true},
		"a prompt and chat":            {p, c, `"hi"`, hi, true},
		"a prompt and a list of one":   {p, p, `"hi"`, `["hi"]`, true},
		"two prompts":                  {p, p, `["a","b"]`, `["ab"]`, false},
		"prompts of tokens":            {p, p, `[1, 2]`, `[1,2]`, true},
		"other tokens":                 {p, p, `[[1],[2]]`, `[[1],[3]]`, false},
		"the answer to a prompt":       {p, c, `{"role":"assistant","content":"hi"}`, `{"role":"assistant","content":"hi"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if a, b := digest(t, tt.p, tt.a), digest(t, tt.q, tt.b); (a == b) != tt.equal {
				t.Errorf("digests equal: %v, want %v:\n%s\n%s", a == b, tt.equal, tt.a, tt.b)
			}
		})
	}
}

func TestMeterClassesOfResponses(t *testing.T) {
	t.Parallel()
	item := func(members string) string {
		return respond("output_item.added", `"output_index":0,"item":{`+members+`}`)
	}
	for name, tt := range map[string]struct {
		stream   string
		want     wire.EventClass
		terminal bool
	}{
		"what opens the response":             {respCreated + respond("in_progress", `"response":{}`) + respond("queued", `"response":{}`), wire.Opening, false},
		"an item that holds nothing yet":      {item(`"type":"message","role":"assistant","content":[]`), wire.Opening, false},
		"reasoning that holds nothing yet":    {item(`"type":"reasoning","summary":[]`), wire.Opening, false},
		"a part that holds nothing yet":       {respond("content_part.added", `"part":{"type":"output_text","text":""}`), wire.Opening, false},
		"a part with text":                    {respond("content_part.added", `"part":{"type":"output_text","text":"a"}`), wire.Content, false},
		"a call":                              {item(`"type":"function_call","name":"f","call_id":"c","arguments":""`), wire.Content, false},
		"an item with text":                   {item(`"type":"message","content":[{"type":"output_text","text":"a"}]`), wire.Content, false},
		"text":                                {respCreated + respText, wire.Content, false},
		"an event of another kind":            {"event: lamp.progress\ndata: {\"a\":1}\n\n", wire.Content, false},
		"a sign of life":                      {"event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":3}\n\n", wire.None, false},
		"the end":                             {respCompleted, wire.End, true},
		"the end without event names":         {strings.Replace(respCompleted, "event: response.completed\n", "", 1), wire.End, true},
		"the end by its name alone":           {"event: response.completed\ndata: {\"response\":{}}\n\n", wire.End, true},
		"an answer that is cut short":         {respond("incomplete", `"response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}`), wire.End, true},
		"an error":                            {respError, wire.Error, false},
		"an error with an object":             {"data: {\"type\":\"error\",\"error\":{\"message\":\"no\"}}\n\n", wire.Error, false},
		"an error without a type":             {"data: {\"error\":{\"message\":\"no\"}}\n\n", wire.Error, false},
		"a failure":                           {respFailed, wire.Error, true},
		"a failure behind what opens":         {respCreated + respFailed, wire.Error, true},
		"a failure that says no more":         {"event: response.failed\ndata: {}\n\n", wire.Error, true},
		"a response that somebody cancelled":  {respond("cancelled", `"response":{"status":"cancelled"}`), wire.Error, true},
		"a failure behind text":               {respText + respFailed, wire.Content, true},
		"the mark of another protocol":        {done, wire.Content, false},
		"a completed one whose status failed": {respond("completed", `"response":{"status":"failed"}`), wire.Error, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := wire.NewMeter(mooring.Responses, wire.MeterLimits{})
			pass, err := m.Feed([]byte(tt.stream))
			if err != nil || pass.Event != tt.want || m.Terminal() != tt.terminal || m.Failed() != (m.Answer().Err != nil) {
				t.Errorf("Feed = class %d, %v, terminal %v; want %d, %v", pass.Event, err, m.Terminal(), tt.want, tt.terminal)
			}
		})
	}
}

func TestMeterHoldsBackTheEndOfAResponse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		passes, held string
		terminal     bool
	}{
		"the end, with its data":          {respCreated + respText, respCompleted, true},
		"the end, with something behind":  {respText, respCompleted + done, true},
		"a failure":                       {respText, respFailed, true},
		"an error":                        {respText, respError, false},
		"an error, then the failure":      {respText, respError + respFailed, true},
		"a failure behind what opens":     {respCreated, respFailed, true},
		"an error that names no response": {respText, "data: {\"error\":\"no\"}\n\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for size := 1; size <= len(tt.passes+tt.held); size++ {
				m := wire.NewMeter(mooring.Responses, wire.MeterLimits{})
				feed(t, m, []byte(tt.passes+tt.held), size)
				if string(m.Tail()) != tt.held || m.Terminal() != tt.terminal || !m.Ending() {
					t.Fatalf("in pieces of %d: Tail %q, Terminal %v, Ending %v; want %q, %v, true", size, m.Tail(), m.Terminal(), m.Ending(), tt.held, tt.terminal)
				}
			}
		})
	}
}

func TestMeterCompletesAResponseThatLacksItsBlankLine(t *testing.T) {
	t.Parallel()
	large := strings.Replace(respCompleted, `"text":"hi"`, `"text":"`+strings.Repeat("hi ", 500)+`"`, 1)
	for name, event := range map[string]string{"a short one": respCompleted, "a long one": large, "a failure": respFailed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, lacks := range []string{"\n\n", "\n"} {
				m := meter(t, mooring.Responses, respCreated+strings.TrimSuffix(event, lacks))
				if m.Terminal() || !m.Ending() {
					t.Errorf("before: Terminal %v, Ending %v; want false, true", m.Terminal(), m.Ending())
				}
				if !m.Complete() || string(m.Tail()) != event || m.Answer().Finish == "" {
					t.Errorf("Complete: Terminal %v, Tail %q, Finish %q; want true, the event, its status", m.Terminal(), m.Tail(), m.Answer().Finish)
				}
			}
		})
	}
	t.Run("half an end is none", func(t *testing.T) {
		t.Parallel()
		for cut := range len(respCompleted) - len("\n\n") {
			if m := meter(t, mooring.Responses, respCompleted[:cut]); m.Ending() || m.Complete() {
				t.Fatalf("%q counts as an end", respCompleted[:cut])
			}
		}
	})
}

func TestMeterKeepsWhatCameOfAResponse(t *testing.T) {
	t.Parallel()
	at := func(kind string, index, part int, text string) string {
		return respond(kind+".delta", fmt.Sprintf(`"output_index":%d,"content_index":%d,"delta":%q`, index, part, text))
	}
	for name, tt := range map[string]struct{ stream, want string }{
		"text of an item that was never opened": {respText, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}`},
		"the whole text behind its deltas":      {respText + respond("output_text.done", `"output_index":0,"content_index":0,"text":"hi you"`), `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi you"}]}`},
		"a part opened with text":               {respond("content_part.added", `"part":{"type":"refusal","refusal":"I will "}`) + at("refusal", 0, 0, "not"), `{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"I will not"}]}`},
		"parts that alternate":                  {at("output_text", 0, 1, "c") + at("output_text", 0, 0, "a") + at("output_text", 0, 1, "d") + at("output_text", 0, 0, "b"), `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ab"},{"type":"output_text","text":"cd"}]}`},
		"items in the order of their index":     {at("function_call_arguments", 1, 0, "{}") + at("reasoning_summary_text", 0, 0, "hm"), `[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"type":"function_call","arguments":"{}"}]`},
		"reasoning and its summary":             {at("reasoning_text", 0, 0, "a") + at("reasoning_summary_text", 0, 0, "b"), `{"type":"reasoning","content":[{"type":"reasoning_text","text":"a"}],"summary":[{"type":"summary_text","text":"b"}]}`},
		"a free input":                          {respond("output_item.added", `"output_index":0,"item":{"type":"custom_tool_call","call_id":"c","name":"f","input":""}`) + at("custom_tool_call_input", 0, 0, "fold"), `{"type":"custom_tool_call","call_id":"c","name":"f","input":"fold"}`},
		"a whole item is what it says":          {respText + respond("output_item.done", `"output_index":0,"item":{"type":"message","role":"assistant","content":[]}`), `{"type":"message","role":"assistant","content":[]}`},
		"half surrogates are joined":            {strings.Replace(respText, "hi", `\ud83d`, 1) + strings.Replace(respText, "hi", `\ude42`, 1), `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"\ud83d\ude42"}]}`},
		"nothing but an opening":                {respCreated, ``},
		"a failure keeps what came":             {respText + respFailed, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}`},
		"an empty answer":                       {respond("completed", `"response":{"status":"completed","output":[]}`), `{"type":"message","role":"assistant","content":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := string(meter(t, mooring.Responses, tt.stream).Answer().Message); got != tt.want {
				t.Errorf("Message = %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestMeterLimitsOfResponses(t *testing.T) {
	t.Parallel()
	item := func(text string) string {
		return respond("output_item.done", `"output_index":0,"item":{"type":"message","content":"`+text+`"}`)
	}
	long := strings.Repeat("a", 700)
	for name, tt := range map[string]struct {
		stream string
		over   bool
	}{
		"text that does not end":              {strings.Repeat(respText, 2000), true},
		"a flood of items":                    {strings.Repeat(respond("output_item.added", `"output_index":0,"item":{"id":"a"}`)+respond("output_item.done", `"output_index":0,"item":{"id":"a"}`), 20), true},
		"a flood of parts":                    {strings.Repeat(respond("content_part.added", `"content_index":1,"part":{"type":"output_text","text":"a"}`)+respond("content_part.added", `"content_index":2,"part":{"type":"refusal","refusal":"a"}`), 2000), true},
		"a large item":                        {item(strings.Repeat(long, 3)), true},
		"the same text thrice is once":        {strings.Replace(respText, "hi", long, 1) + respond("output_text.done", `"text":"`+long+`"`) + item(long) + respond("completed", `"response":{"output":[{"type":"message","content":"`+long+`"}]}`), false},
		"a terminal event that is very large": {respond("completed", `"response":{"instructions":"`+strings.Repeat(long, 3)+`"}`), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := wire.NewMeter(mooring.Responses, wire.MeterLimits{MaxAnswer: 2000})
			_, err := m.Feed([]byte(tt.stream))
			if (mooring.CodeOf(err) == mooring.CodeUpstreamError) != tt.over || (err != nil) != tt.over {
				t.Errorf("Feed error = %v, want one: %v", err, tt.over)
			}
		})
	}
}

func TestAssembleResponses(t *testing.T) {
	t.Parallel()
	const item = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}`
	for name, tt := range map[string]struct{ stream, want string }{
		"the response of the last event": {respCreated + respText + respCompleted, `{"id":"resp_1","status":"completed","output":[` + item + `]}`},
		"an output that was left out":    {respText + respond("completed", `"response":{"id":"r","output":[],"x":1}`), `{"id":"r","x":1,"output":[` + item + `]}`},
		"no response at all":             {respCreated + respText + "event: response.completed\ndata: {}\n\n", `{"id":"resp_1","object":"response","status":"completed","model":"lamp","output":[` + item + `]}`},
		"an empty answer":                {respond("completed", `"response":{"status":"completed","output":[]}`), `{"status":"completed","output":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := meter(t, mooring.Responses, tt.stream).Assemble()
			if err != nil || string(got) != tt.want {
				t.Errorf("Assemble = %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
	for name, stream := range map[string]string{"no end": respText, "a failure": respText + respFailed} {
		if got, err := meter(t, mooring.Responses, stream).Assemble(); err == nil {
			t.Errorf("Assemble of %s = %s, want an error", name, got)
		}
	}
}

func TestDecodeAnswerOfResponsesAndCompletions(t *testing.T) {
	t.Parallel()
	const r, c = mooring.Responses, mooring.Completions
	const item = `{"id":"m","type":"message","role":"assistant","content":[]}`
	for name, tt := range map[string]struct {
		p    mooring.Protocol
		body string
		want wire.Answer
	}{
		"an answer of one item": {
			r, `{"id":"resp_1","model":"lamp","status":"completed","error":null,"output":[` + item + `],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":2}}`,
			wire.Answer{ID: "resp_1", Model: "lamp", Ended: true, Finish: "completed", Message: []byte(item), Usage: mooring.Usage{Input: mooring.Count(6), Output: mooring.Count(2), CacheRead: mooring.Count(4)}},
		},
		"an answer of several items": {r, `{"status":"completed","output":[{"type":"reasoning"}, ` + item + `]}`, wire.Answer{Ended: true, Finish: "completed", Message: []byte(`[{"type":"reasoning"}, ` + item + `]`)}},
		"an answer of nothing":       {r, `{"status":"completed","output":[]}`, wire.Answer{Ended: true, Finish: "completed", Message: []byte(`{"type":"message","role":"assistant","content":[]}`)}},
		"an answer that is cut":      {r, `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + item + `]}`, wire.Answer{Ended: true, Finish: "max_output_tokens", Message: []byte(item)}},
		"one made in the background": {r, `{"id":"resp_1","status":"queued","output":[]}`, wire.Answer{ID: "resp_1", Ended: true, Finish: "queued"}},
		"one that is being made":     {r, `{"status":"in_progress","output":[],"usage":null}`, wire.Answer{Ended: true, Finish: "in_progress"}},
		"a failure":                  {r, `{"status":"failed","error":{"code":"server_error","message":"no"},"output":[]}`, wire.Answer{Finish: "failed", Err: &wire.AnswerError{Type: "failed", Code: "server_error", Message: "no"}}},
		"a failure with a part":      {r, `{"status":"failed","error":null,"output":[` + item + `]}`, wire.Answer{Finish: "failed", Message: []byte(item), Err: &wire.AnswerError{Type: "failed"}}},
		"a cancelled one":            {r, `{"status":"cancelled","output":[]}`, wire.Answer{Finish: "cancelled", Err: &wire.AnswerError{Type: "cancelled"}}},
		"an error inside a 200":      {r, `{"error":{"message":"no","type":"t","code":7}}`, wire.Answer{Err: &wire.AnswerError{Type: "t", Code: "7", Message: "no"}}},
		"a compaction is its seal alone": {
			r, `{"id":"resp_1","object":"response.compaction","output":[{"type":"message","role":"user","content":"q"},{"type":"compaction","encrypted_content":"e"}],"usage":{"input_tokens":3,"output_tokens":1}}`,
			wire.Answer{ID: "resp_1", Ended: true, Message: []byte(`{"type":"compaction","encrypted_content":"e"}`), Usage: mooring.Usage{Input: mooring.Count(3), Output: mooring.Count(1)}},
		},
		"a compaction with a summary": {
			r, `{"output":[{"type":"message","role":"user","content":"q"},` + item + `,{"type":"compaction"}]}`,
			wire.Answer{Ended: true, Message: []byte(`[` + item + `,{"type":"compaction"}]`)},
		},
		"a completion": {
			c, `{"id":"c","model":"lamp","choices":[{"index":1,"text":"no"},{"index":0,"text":" on","finish_reason":"length"}],"usage":{"prompt_tokens":2,"completion_tokens":1}}`,
			wire.Answer{ID: "c", Model: "lamp", Ended: true, Finish: "length", Message: []byte(`{"role":"assistant","content":" on"}`), Usage: mooring.Usage{Input: mooring.Count(2), Output: mooring.Count(1)}},
		},
		"an error inside a 200, completions": {c, `{"error":"no"}`, wire.Answer{Err: &wire.AnswerError{Message: "no"}}},
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
}

func TestRenderResponsesAndCompletions(t *testing.T) {
	t.Parallel()
	const r, c = mooring.Responses, mooring.Completions
	for name, tt := range map[string]struct {
		p                    mooring.Protocol
		message, parts, text string
	}{
		"a text":                  {r, `"hi"`, `[{"type":"text","text":"hi"}]`, "hi"},
		"parts":                   {r, `{"role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"x"},{"type":"input_file","filename":"plan.pdf"}]}`, `[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"x"},{"type":"input_file","filename":"plan.pdf"}]`, "see\n[screenshot]\n[file: plan.pdf]"},
		"a refusal":               {r, `{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`, `[{"type":"refusal","refusal":"no"}]`, "no"},
		"a call is as in chat":    {r, `{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":"{}"}`, `[{"type":"tool_call","id":"c","function":{"name":"f","arguments":"{}"}}]`, ""},
		"a call with free input":  {r, `{"type":"custom_tool_call","call_id":"c","name":"f","input":"x"}`, `[{"type":"tool_call","id":"c","custom":{"name":"f","input":"x"}}]`, ""},
		"a call of another kind":  {r, `{"type":"local_shell_call","call_id":"c","action":{"command":["ls"]}}`, `[{"type":"tool_call","id":"c","function":{"name":"local_shell","arguments":{"command":["ls"]}}}]`, ""},
		"items of one answer":     {r, `[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"e"},{"role":"assistant","content":[{"type":"output_text","text":"a"}]},{"role":"assistant","content":"b"}]`, `[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"type":"output_text","text":"a"},{"type":"text","text":"b"}]`, "a\nb"},
		"a result":                {r, `{"type":"function_call_output","call_id":"c","output":"x"}`, `[{"type":"text","text":"x"}]`, "x"},
		"a result with an image":  {r, `{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"y"}]}`, `[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"y"}]`, "x\n[screenshot]"},
		"a screenshot":            {r, `{"type":"computer_call_output","output":{"type":"computer_screenshot","image_url":"x"}}`, `[{"type":"computer_screenshot","image_url":"x"}]`, "[screenshot]"},
		"an image that was made":  {r, `{"type":"image_generation_call","result":"AA=="}`, `[{"type":"image_generation_call","result":"AA=="}]`, "[screenshot]"},
		"a prompt":                {c, `"The river"`, `[{"type":"text","text":"The river"}]`, "The river"},
		"prompts":                 {c, `["a","b"]`, `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, "a\nb"},
		"tokens are no text":      {c, `[1,2]`, `[]`, ""},
		"the answer to a prompt":  {c, `{"role":"assistant","content":" on"}`, `[{"type":"text","text":" on"}]`, " on"},
		"numbers in a list":       {r, `[1,null]`, `[]`, ""},
		"NUL gets its sign, too":  {r, `"a\u0000b"`, `[{"type":"text","text":"a\u0000b"}]`, "a\u2400b"},
		"what is no JSON is none": {r, `[{"type":`, `[]`, ""},
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
