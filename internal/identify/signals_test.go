package identify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mooring"
	"mooring/internal/identify"
)

const (
	claude       = "11111111-2222-4333-8444-555555555555"
	known        = "ses_01ARZ3NDEKTSV4RRFFQ69G5FAV"
	claudeHeader = "X-Claude-Code-Session-Id"
)

func resolve(t *testing.T, header http.Header, more string) (*identify.Finding, error) {
	t.Helper()
	e := identify.New(identify.Options{
		Store: oneSession{}, Secret: secret, NewSession: func() mooring.SessionID { return "ses_01BX5ZZKBKACTAV9WEVGEMMVRZ" }, NewKey: func() string { return "api-new" },
	})
	return e.Resolve(t.Context(), ask{header: header, body: more}.decode(t))
}

// oneSession is a store that holds one session, known by one id.
type oneSession struct{ identify.Store }

func (oneSession) AliasHits(_ context.Context, _ mooring.Tenant, aliases []mooring.Alias) ([]mooring.AliasHit, error) {
	var out []mooring.AliasHit
	for _, a := range aliases {
		if a.Value == claude {
			out = append(out, mooring.AliasHit{Alias: a, Session: known})
		}
	}
	return out, nil
}

func (oneSession) Session(_ context.Context, _ mooring.Tenant, id mooring.SessionID) (mooring.Session, error) {
	if id == known {
		return mooring.Session{ID: known, Root: known, Key: claude}, nil
	}
	return mooring.Session{}, mooring.Errorf(mooring.CodeSessionNotFound, "gone")
}

func (oneSession) Chain(context.Context, mooring.Tenant, [][]byte) ([]mooring.ChainEntry, error) {
	return nil, nil
}

func TestPlaceholdersAreNoIDs(t *testing.T) {
	t.Parallel()
	for value, placeholder := range map[string]bool{
		"": true, "   ": true, "\t": true, "new": true, "NULL": true, "undefined": true, "none": true, "Default": true, "unknown": true, " default ": true, "0": true,
		"00000000-0000-0000-0000-000000000000": true, "{{chatId}}": true, "{{session/id}}": true, "chat-{{ chat.id }}": true, "${SESSION}": true, "{CHAT_ID}": true,
		"chat-{id}": true, "<chat id>": true, "{{" + strings.Repeat("x", 500) + "}}": true,
		"{3F2504E0-4F89-11D3-9A0C-0305E82C3301}": false, "{A12504E0-4F89-11D3-9A0C-0305E82C3301}": false, "a<b": false, "{": false, "new-1": false, "nullable": false,
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			quoted, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"X-Session-Id", "X-Hermes-Session-Id"} {
				header, refused := resolve(t, http.Header{name: {value}}, "")
				if refused != nil {
					t.Fatalf("%s: %v", name, refused)
				}
				if got := header.Identity == "minted"; got != placeholder {
					t.Errorf("%s: identity = %s, want a placeholder: %v", name, header.Identity, placeholder)
				}
			}
			body, err := resolve(t, nil, fmt.Sprintf(`"session_id":%s,`, quoted))
			if err != nil {
				t.Fatal(err)
			}
			if got := body.Identity == "minted"; got != placeholder {
				t.Errorf("body: identity = %s, want a placeholder: %v", body.Identity, placeholder)
			}
		})
	}
}

func TestBodyIDsAreTrimmedAsHeadersAre(t *testing.T) {
	t.Parallel()
	f, err := resolve(t, nil, `"session_id":" \tchat 1 ",`)
	if err != nil || f.ClientID != "chat 1" {
		t.Errorf("id = %q (%v), want it without the blanks around it", f.ClientID, err)
	}
}

func TestRefusedIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 257)
	ids := []string{"X-Session-Id", "X-Mooring-Session", "X-Claude-Code-Agent-Id", "X-Claude-Code-Parent-Agent-Id", "X-Parent-Session-Id", "X-Opencode-Parent-Session-Id"}
	type row struct {
		rule   string
		header http.Header
		body   string
	}
	rows := []row{
		{"too long in the body", nil, `"session_id":"` + long + `",`},
		{"a control character in the body", nil, `"session_id":"a\nb",`},
		{"a line end after the id in the body", nil, `"session_id":"a\n",`},
		{"a slash in Hermes' id", http.Header{"X-Hermes-Session-Id": {"a/b"}}, ""},
	}
	for _, name := range ids {
		underscored := strings.ReplaceAll(name, "-", "_")
		rows = append(
			rows,
			row{name + " too long", http.Header{claudeHeader: {claude}, name: {long}}, ""},
			row{name + " with a control character", http.Header{claudeHeader: {claude}, name: {"a\tb"}}, ""},
			row{name + " twice", http.Header{claudeHeader: {claude}, name: {"a1", "a2"}}, ""},
			row{name + " in two spellings", http.Header{claudeHeader: {claude}, name: {"a1"}, underscored: {"a2"}}, ""},
		)
	}
	for _, tt := range rows {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			if f, err := resolve(t, tt.header, tt.body); mooring.CodeOf(err) != mooring.CodeInvalidSessionID {
				t.Errorf("Resolve = %+v, %v, want invalid_session_id", f, err)
			}
		})
	}
}

func TestCompanionsThatSayNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"X-Mooring-Session", "X-Claude-Code-Agent-Id", "X-Claude-Code-Parent-Agent-Id", "X-Parent-Session-Id"} {
		for _, value := range []string{"", "null", "{{parent}}", "none"} {
			f, err := resolve(t, http.Header{claudeHeader: {claude}, name: {value}}, "")
			if err != nil {
				t.Errorf("%s: %q: %v", name, value, err)
				continue
			}
			if f.Known.ID != known || f.Kind != mooring.KindMain {
				t.Errorf("%s: %q: session %s of kind %s, want the one of the id, as if the header were not there", name, value, f.Known.ID, f.Kind)
			}
		}
	}
}

// Of two spellings an empty one says nothing, whichever is looked at first.
func TestEmptySpellings(t *testing.T) {
	t.Parallel()
	for range 20 {
		f, err := resolve(t, http.Header{"X-Session-Id": {"a1"}, "X_session_id": {""}, "X_Session-Id": {"", "a1"}}, "")
		if err != nil || f.ClientID != "a1" {
			t.Fatalf("id = %q (%v), want a1", f.ClientID, err)
		}
	}
}
