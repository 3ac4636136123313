package search_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"mooring"
	"mooring/internal/record"
	"mooring/internal/search"
	sqlstore "mooring/internal/store/sql"
	"mooring/internal/store/sqlite"
	"mooring/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is an index over a real store.
type house struct {
	t     testing.TB
	path  string
	store *sqlstore.Store
	log   *record.Writer
	index *search.Index
	n     int
}

func open(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, path: filepath.Join(t.TempDir(), "mooring.db")}
	h.start()
	h.index.Start()
	t.Cleanup(h.close)
	return h
}

// start opens the store; the index waits.
func (h *house) start() {
	h.t.Helper()
	var err error
	if h.store, err = sqlite.Open(h.t.Context(), sqlite.Options{Path: h.path, BlobKey: []byte("a key for tests")}); err != nil {
		h.t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	h.log = record.New(record.Options{Store: h.store, Now: time.Now, Log: quiet})
	if err := h.log.Start(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	h.index = search.New(search.Options{Store: h.store, Log: h.log, Render: render, Now: time.Now, Logger: quiet})
}

func (h *house) close() {
	h.index.Close()
	h.log.Close()
	if err := h.store.Close(); err != nil {
		h.t.Error(err)
	}
}

func render(p mooring.Protocol, content []byte) string {
	_, text := wire.Render(p, content)
	return text
}

var epoch = time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)

const acme mooring.Tenant = "acme"

// say begins a session with messages of these texts, and gives its id.
func (h *house) say(t mooring.Tenant, title string, texts ...string) mooring.SessionID {
	h.t.Helper()
	h.n++
	id := fmt.Sprintf("01KAAAAAAAAAAAAAAAAAAA%04d", h.n)
	at := epoch.Add(time.Duration(h.n) * time.Minute)
	s := mooring.Session{
		Tenant: t, ID: mooring.SessionID("ses_" + id), Key: "key-" + id, Title: title, Root: mooring.SessionID("ses_" + id),
		Relation: mooring.RelationMain, CreatedAt: at, UpdatedAt: at,
	}
	c := &mooring.Begin{
		New: true, Session: s, Aliases: []mooring.Alias{{Class: mooring.ClassGeneric, Value: s.Key}},
		Turn: mooring.Turn{
			Tenant: t, ID: mooring.TurnID("trn_" + id), Session: s.ID, Kind: mooring.KindMain, Protocol: mooring.Chat, StartedAt: at,
		},
	}
	for i, text := range texts {
		quoted, err := json.Marshal(text)
		if err != nil {
			h.t.Fatal(err)
		}
		c.Messages = append(c.Messages, mooring.Message{
			Tenant: t, Session: s.ID, ID: mooring.MessageID(fmt.Sprintf("msg_%s%04d", id[:22], h.n*10_000+i)), Turn: c.Turn.ID, Role: "user",
			State: mooring.Completed, Protocol: mooring.Chat, Content: fmt.Appendf(nil, `{"role":"user","content":%s}`, quoted),
			CreatedAt: at,
		})
	}
	if err := h.log.Commit(h.t.Context(), c); err != nil {
		h.t.Fatal(err)
	}
	return s.ID
}

func (h *house) find(t mooring.Tenant, text string) mooring.SearchPage {
	h.t.Helper()
	page, err := h.index.Search(h.t.Context(), t, mooring.SearchQuery{Text: text, Limit: 20})
	if err != nil {
		h.t.Fatalf("search %q: %v", text, err)
	}
	return page
}

// sessions are those found, in their order.
func sessions(p mooring.SearchPage) []mooring.SessionID {
	var out []mooring.SessionID
	for i := range p.Hits {
		out = append(out, p.Hits[i].Session)
	}
	return out
}

// TestAnyText is C153 and C155: what somebody types finds the message that holds it, and no other one.
func TestAnyText(t *testing.T) {
	t.Parallel()
	h := open(t)
	texts := map[string]string{}
	for _, q := range []string{
		"#123", "src/main.py", "don't", "50%", "bob@example.com", "ok?", "$5", "a,b", "TODO: fix", "multi-agent", "--force", "GB/s", "C++",
		"foo::bar", "sqlite.go:42", "foo_bar", "!= nil", `"quoted phrase"`, "NEAR(x", "AND", "OR NOT", "x:y", "'; DROP TABLE sessions; --",
		"naïve", "ÅNGSTRÖM", "Straße", "Ελλάς", "Привет", "नमस्ते", "שָׁלוֹם", "مرحبا", "𞤀𞤁𞤂", "🚀", "👨‍👩‍👧", "❤️", "🇩🇪", "★", "Ｆｕｌｌ",
		"用户身份", "身份", "港", "天", "東京", "テスト", "テーブル", "か", "안녕하세요", "세션", "สวัสดี", "ကမ္ဘာ", "GPT模型", "\x00",
	} {
		texts[q] = ""
	}
	for q := range texts {
		texts[q] = string(h.say(acme, "", "please look at 我们讨论了 "+q+" 问题 for me, 東京都庁"))
	}
	h.say(acme, "", "a see of ccc with fifty 5000 and xyz, temporary")
	for q, want := range texts {
		page := h.find(acme, q)
		if page.Degraded {
			t.Errorf("%q: degraded", q)
		}
		holds := false
		for _, hit := range page.Hits {
			holds = holds || string(hit.Session) == want
		}
		if !holds && q != "東京" && q != "用户身份" {
			t.Errorf("%q: %d results, none of them the message that holds it", q, len(page.Hits))
		}
	}
	for q, want := range map[string]int{"C++": 1, "#123": 1, "$5": 1, "50%": 1, "👨‍👩‍👧": 1, "身份": 2, "港": 1, "foo::bar": 1, "--force": 1, "OR NOT": 1} {
		if got := h.find(acme, q); len(got.Hits) != want {
			t.Errorf("%q: %d results, want %d", q, len(got.Hits), want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	h := open(t)
	one := h.say(acme, "", "The Bollard stands on the quay. 会话身份")
	two := h.say(acme, "", "Café at the harbour, camelCaseName, bollards")
	for _, row := range []struct {
		name, query string
		want        []mooring.SessionID
	}{
		{"case does not matter", "BOLLARD quay", []mooring.SessionID{one}},
		{"marks do not matter", "cafe", []mooring.SessionID{two}},
		{"marks do not matter in the query", "CÀFÉ", []mooring.SessionID{two}},
		{"words are all of them", "bollard harbour", []mooring.SessionID{two}},
		{"in any order", "quay stands", []mooring.SessionID{one}},
		{"parts of words, where nothing holds them whole", "boll quay", []mooring.SessionID{one}},
		{"the last one may be growing, the newest first", "boll", []mooring.SessionID{two, one}},
		{"a whole word is found with longer ones", "bollard", []mooring.SessionID{two, one}},
		{"quotes are text around words", `"stands on"`, []mooring.SessionID{one}},
		{"punctuation that was not typed does not matter", "quay harbour,", nil},
		{"punctuation around words does not matter", "(harbour; café!)", []mooring.SessionID{two}},
		{"a part of words without spaces", "话身", []mooring.SessionID{one}},
		{"runes in another order are another word", "身话", nil},
		{"inside a word, where no word begins so", "caseName", []mooring.SessionID{two}},
		{"signs alone", ".", []mooring.SessionID{one}},
		{"what is nowhere", "zeppelin", nil},
		{"nothing", "", nil},
		{"white space", " \t\n", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			page := h.find(acme, row.query)
			if diff := cmp.Diff(row.want, sessions(page)); diff != "" || page.Degraded {
				t.Errorf("%q (-want +got):\n%sdegraded %t", row.query, diff, page.Degraded)
			}
		})
	}
}

func TestAnyBytesAreAQuery(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(acme, "a title", "some words")
	parts := []string{
		`"`, `'`, `*`, `(`, `)`, `:`, `^`, `-`, `+`, `\`, `%`, `_`, "NEAR", "AND", "OR", "NOT", "{", "}", "\x00", "\xff", "\xed\xa0\x80", "a", "é", "天", "🚀",
		"\u200d", "\ufe0f", "\u0301", " ", "\n", "&", "|", "!", "<->", ":*", "$1", "--", ";", "some", strings.Repeat("x", 300), "\u0e31", "\u1100", "\uffff",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		var q strings.Builder
		for range random.IntN(12) {
			q.WriteString(parts[random.IntN(len(parts))])
		}
		for i := range h.find(acme, q.String()).Hits {
			if hit := h.find(acme, q.String()).Hits[i]; !utf8.ValidString(hit.Snippet) {
				t.Errorf("%q: snippet %q", q.String(), hit.Snippet)
			}
		}
	}
	h.find(acme, strings.Repeat("words ", 100_000))
	h.find(acme, strings.Repeat("天", 100_000))
}

// TestNames is the half of C167 that search has: titles are read as they are.
func TestNames(t *testing.T) {
	t.Parallel()
	h := open(t)
	ropes := h.say(acme, "Ropes & Käfer", "hello")
	other := h.say(acme, "Knots", "hello ropes")
	h.say("globex", "Ropes", "hello")
	for _, row := range []struct {
		name, query string
		want        []mooring.SessionID
	}{
		{"by title, beside a message", "ropes", []mooring.SessionID{other, ropes}},
		{"by all words of a title", "kafer ropes", []mooring.SessionID{ropes}},
		{"by key", string("key-" + ropes[4:]), []mooring.SessionID{ropes}},
		{"by the beginning of an id", strings.ToLower(string(ropes)), []mooring.SessionID{ropes}},
		{"not by what all ids begin with", "ses_", nil},
		{"once, where a message holds it too", "knots", []mooring.SessionID{other}},
	} {
		if diff := cmp.Diff(row.want, sessions(h.find(acme, row.query))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
	want := mooring.SearchHit{
		Session: ropes, Key: "key-" + string(ropes[4:]), Title: "Ropes & Käfer", Snippet: "Ropes & Käfer", CreatedAt: epoch.Add(time.Minute),
	}
	if diff := cmp.Diff([]mooring.SearchHit{want}, h.find(acme, "käfer").Hits); diff != "" {
		t.Errorf("hit (-want +got):\n%s", diff)
	}
	if _, err := h.raw("UPDATE session SET title = 'Hawsers' WHERE title LIKE 'Ropes &%'"); err != nil {
		t.Fatal(err)
	}
	if got := sessions(h.find(acme, "käfer")); len(got) != 0 {
		t.Errorf("the old title finds %v, want nothing", got)
	}
	if diff := cmp.Diff([]mooring.SessionID{ropes}, sessions(h.find(acme, "hawsers"))); diff != "" {
		t.Errorf("the new title (-want +got):\n%s", diff)
	}
}

func TestSnippets(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(acme, "", strings.Repeat("über lange Taue ", 40)+"Bollard\n\tam  Kai "+strings.Repeat("nichts weiter ", 40))
	h.say(acme, "", strings.Repeat("我们讨论了很多问题", 100)+"北京天气"+strings.Repeat("然后就没有了", 100))
	h.say(acme, "", "short one about a mole")
	for q, want := range map[string]string{
		"bollard": "…über lange Taue über lange Taue über lange Taue Bollard am Kai nichts weiter ",
		"北京天气":    "北京天气",
		"mole":    "short one about a mole",
	} {
		hits := h.find(acme, q).Hits
		if len(hits) != 1 {
			t.Fatalf("%q: %d results", q, len(hits))
		}
		got := hits[0].Snippet
		if !strings.Contains(got, want) || utf8.RuneCountInString(got) > 165 || !utf8.ValidString(got) {
			t.Errorf("%q: snippet %q of %d runes, want %q in it", q, got, utf8.RuneCountInString(got), want)
		}
	}
}

// TestLongTexts: a message is searched to its 128 KiB, and found there.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(acme, "", strings.Repeat("lorem ipsum ", 10_000)+"inside "+strings.Repeat("dolor ", 10_000)+"outside")
	if got := h.find(acme, "inside").Hits; len(got) != 1 {
		t.Errorf("%d results for a word before the bound, want 1", len(got))
	}
	if got := h.find(acme, "outside").Hits; len(got) != 0 {
		t.Errorf("%d results for a word behind the bound, want none", len(got))
	}
}

// TestDegraded: a search that could not look everywhere says so.
func TestDegraded(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(acme, "", "an oldWord")
	texts := make([]string, 5000)
	for i := range texts {
		texts[i] = fmt.Sprintf("message %d", i)
	}
	h.say(acme, "", texts...)
	h.say("globex", "", "hello")
	eventually(t, func() bool { return !h.find(acme, "message").Degraded })
	page := h.find(acme, "word")
	if !page.Degraded || len(page.Hits) != 0 {
		t.Errorf("inside a word of a message behind the bound: %d results, degraded %t; want none and degraded", len(page.Hits), page.Degraded)
	}
	if page := h.find(acme, "oldword"); page.Degraded || len(page.Hits) != 1 {
		t.Errorf("the word itself: %d results, degraded %t; want one by the index", len(page.Hits), page.Degraded)
	}
	if page := h.find("globex", "word"); page.Degraded {
		t.Error("another tenant's few messages: degraded")
	}
}

// TestAfterACrash: what had no time to be indexed is after the next start.
func TestAfterACrash(t *testing.T) {
	t.Parallel()
	h := &house{t: t, path: filepath.Join(t.TempDir(), "mooring.db")}
	h.start()
	one := h.say(acme, "", "a bollard")
	h.close()
	h.start()
	defer h.close()
	h.index.Start()
	page := h.find(acme, "bollard")
	if diff := cmp.Diff([]mooring.SessionID{one}, sessions(page)); diff != "" || page.Degraded {
		t.Errorf("(-want +got):\n%sdegraded %t", diff, page.Degraded)
	}
}

// TestDeletedWordsLeaveTheFile is C161 for the index: nothing of a deleted session's words is in the files.
func TestDeletedWordsLeaveTheFile(t *testing.T) {
	t.Parallel()
	h := open(t)
	secret := h.say(acme, "", "the word is NUMBAT-5 and xyzzyplugh", "numbat5 twice")
	kept := h.say(acme, "", "the word is okapi")
	if got := len(h.find(acme, "numbat").Hits); got != 2 {
		t.Fatalf("%d results before, want 2", got)
	}
	if !h.inFiles("xyzzyplugh") {
		t.Fatal("the index does not show its words: this test sees nothing")
	}
	if err := h.log.Commit(t.Context(), &mooring.Delete{Tenant: acme, Session: secret}); err != nil {
		t.Fatal(err)
	}
	if got := h.find(acme, "numbat").Hits; len(got) != 0 {
		t.Errorf("%d results right after, want none", len(got))
	}
	eventually(t, func() bool { return !h.inFiles("xyzzyplugh") && !h.inFiles("umbat") })
	if diff := cmp.Diff([]mooring.SessionID{kept}, sessions(h.find(acme, "okapi"))); diff != "" {
		t.Errorf("the other session (-want +got):\n%s", diff)
	}
}

func (h *house) inFiles(word string) bool {
	h.t.Helper()
	files, err := filepath.Glob(h.path + "*")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			h.t.Fatal(err)
		}
		if bytes.Contains(bytes.ToLower(data), []byte(word)) {
			return true
		}
	}
	return false
}

// eventually polls until what is wanted is there; what it waits for is asynchronous.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatal("not within 20 s")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// raw changes the store beside the program.
func (h *house) raw(query string) (int64, error) {
	db := openSQL(h.t, h.path)
	result, err := db.ExecContext(h.t.Context(), query)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
