package wire_test

import (
	"testing"

	"mooring"
	"mooring/internal/wire"
)

func TestKeeps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule string
		p    mooring.Protocol
		body string
		want string // the route; empty for none
	}{
		{"nothing", mooring.Responses, `{"model":"m","input":"hi"}`, ""},
		{"words about it are none", mooring.Responses, `{"input":"{\"file_id\":\"file-1\"}"}`, ""},
		{"a tool's own id is none", mooring.Messages, `{"messages":[{"role":"assistant","content":[{"type":"tool_use","input":{"file_id":"1Ab"}}]}]}`, ""},
		{"nor its name", mooring.Messages, `{"tools":[{"input_schema":{"properties":{"file_id":{"type":"string"}}}}],"messages":[]}`, ""},
		{"a file of OpenAI's", mooring.Responses, `{"input":[{"role":"user","content":[{"type":"input_file","file_id" : "file-1"}]}]}`, "/v1/files"},
		{"behind one of a tool's", mooring.Messages, `{"messages":[{"input":{"file_id":"1Ab"}},{"file_id":"file_1"}]}`, "/v1/files"},
		{"a file of Anthropic's", mooring.Messages, `{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"file_1"}}]}]}`, "/v1/files"},
		{"files of a container", mooring.Responses, `{"tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":[ "file-1"]}}],"input":"hi"}`, "/v1/files"},
		{"a container", mooring.Responses, `{"tools":[{"type":"code_interpreter","container":"cntr_1"}],"input":"hi"}`, "/v1/containers"},
		{"a vector store", mooring.Responses, `{"tools":[{"type":"file_search","vector_store_ids":["vs_1"]}],"input":"hi"}`, "/v1/vector_stores"},
		{"a conversation", mooring.Responses, `{"conversation":{"id":"conv_1"},"input":"hi"}`, "/v1/conversations"},
		{"a conversation that the client names", mooring.Responses, `{"conversation":"holiday","input":"hi"}`, ""},
		{"white space is none", mooring.Responses, "{\"input\":\"hi\",\"x\":{\"file_ids\" :\t[\n\"file-1\"]}}", "/v1/files"},
		{"what breaks off", mooring.Responses, `{"input":"hi","file_id":"fil"}`, ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			r, err := wire.Decode(tt.p, []byte(tt.body), wire.Limits{})
			if err != nil && tt.want != "" {
				t.Fatal(err)
			}
			for _, path := range []string{"/v1/conversations", "/v1/files", "/v1/containers", "/v1/vector_stores"} {
				if got := r != nil && r.Keeps([]byte(tt.body), path); got != (path == tt.want) {
					t.Errorf("Keeps(%s) = %v", path, got)
				}
			}
		})
	}
}
