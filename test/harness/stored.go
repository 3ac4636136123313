package harness

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"
)

// The states that the judge looks for by name.
const (
	running     = "running"
	completed   = "completed"
	interrupted = "interrupted"
)

type turnView struct {
	ID       string `json:"id"`
	Session  string `json:"session_id"`
	State    string `json:"state"`
	Question string `json:"question_id"`
	Answer   string `json:"answer_id"`
}

type messageView struct {
	ID   string `json:"id"`
	Turn string `json:"turn_id"`
	Role string `json:"role"`
	Text string `json:"text"`
}

// SessionView is what a list shows of a session.
type SessionView struct {
	ID       string `json:"id"`
	Key      string `json:"key"`
	Title    string `json:"title"`
	State    string `json:"state"`
	Upstream string `json:"upstream"`
	Turns    int    `json:"turns"`
}

// Sessions are all sessions whose title or key holds a text.
func (r *Replica) Sessions(ctx context.Context, q string) ([]SessionView, error) {
	var all []SessionView
	cursor := ""
	for {
		var page struct {
			Sessions []SessionView `json:"sessions"`
			Next     string        `json:"next_cursor"`
		}
		if err := r.Get(ctx, "/api/sessions?limit=200&q="+url.QueryEscape(q)+"&cursor="+url.QueryEscape(cursor), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Sessions...)
		if cursor = page.Next; cursor == "" {
			return all, nil
		}
	}
}

func turnsOf(ctx context.Context, r *Replica, session string) ([]turnView, error) {
	var all []turnView
	before := ""
	for {
		var page struct {
			Turns []turnView `json:"turns"`
			Next  string     `json:"next_cursor"`
		}
		if err := r.Get(ctx, "/api/sessions/"+session+"/turns?limit=200&before="+url.QueryEscape(before), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Turns...)
		if before = page.Next; before == "" {
			return all, nil
		}
	}
}

// patience is how long what was acknowledged may take to be read: SQLite's journal is a moment ahead of its tables.
const patience = 5 * time.Second

// stored judges what a replica shows of the conversations with a prefix.
func (j *Judge) stored(ctx context.Context, v *Verdict, r *Replica, prefix string, seen []*Seen) {
	list, err := r.Sessions(ctx, prefix)
	if err != nil {
		v.Fail(Lost, "%s lists nothing: %v", r.Name, err)
		return
	}
	if r == j.Replicas[0] {
		v.Sessions += len(list)
		listed(v, list, seen)
	}
	bySession := map[string][]*Seen{}
	for _, s := range list {
		bySession[s.ID] = nil
	}
	for _, s := range seen {
		if s.Session != "" {
			bySession[s.Session] = append(bySession[s.Session], s)
		}
	}
	const workers = 4
	queue := make(chan string)
	var all sync.WaitGroup
	var mu sync.Mutex // guards v
	for range workers {
		all.Go(func() {
			for id := range queue {
				found := j.eventually(ctx, r, id, bySession[id])
				mu.Lock()
				if r != j.Replicas[0] {
					found.Turns, found.Interrupted = 0, 0 // counted once
				}
				v.Add(found)
				mu.Unlock()
			}
		})
	}
	for id := range bySession {
		queue <- id
	}
	close(queue)
	all.Wait()
}

// listed judges that a named conversation is one session in the list: by its key, and by the words of its questions.
func listed(v *Verdict, list []SessionView, seen []*Seen) {
	named := map[string]bool{}
	for _, s := range seen {
		if s.Client.Style != Nameless {
			named[s.Key] = true
		}
	}
	of := map[string][]string{}
	for _, s := range list {
		key := s.Key
		if !named[key] {
			_, key, _ = strings.Cut(strings.TrimSuffix(s.Title, "."), " of ")
		}
		of[key] = append(of[key], s.ID)
	}
	for key := range named {
		if len(of[key]) > 1 {
			v.Fail(Split, "%s is listed as %v", key, of[key])
		}
	}
}

// eventually judges a session, again for a while where something is missing or still runs.
func (j *Judge) eventually(ctx context.Context, r *Replica, id string, seen []*Seen) *Verdict {
	began := Now()
	for {
		v, open := j.session(ctx, r, id, seen)
		waited := Now().Sub(began)
		settled := waited > j.Rules.Settle || j.known(open)
		if ctx.Err() != nil || settled && (len(v.Faults) == 0 || waited > patience) {
			j.remember(id, open, began)
			return v
		}
		Sleep(ctx.Done(), 100*time.Millisecond)
	}
}

// known says that all of some turns that run have been waited for already.
func (j *Judge) known(open []string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, turn := range open {
		if _, known := j.open[turn]; !known {
			return false
		}
	}
	return true
}

func (j *Judge) remember(session string, open []string, since time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.Died.IsZero() {
		since = j.Died
	}
	for _, turn := range open {
		if _, known := j.open[turn]; !known {
			j.open[turn] = since
		}
		j.homes[turn] = session
	}
}

// session judges one session at one replica; open are its turns that run.
func (j *Judge) session(ctx context.Context, r *Replica, id string, seen []*Seen) (v *Verdict, open []string) {
	v = &Verdict{}
	turns, err := turnsOf(ctx, r, id)
	if err != nil {
		if anyCommitted(seen) {
			v.Fail(Lost, "%s at %s, of which a client saw a header: %v", id, r.Name, err)
		}
		return v, nil
	}
	v.Turns = len(turns)
	texts, err := j.texts(ctx, v, r, id, turns)
	if err != nil {
		v.Fail(Lost, "%s at %s: %v", id, r.Name, err)
		return v, nil
	}
	byID, answers := map[string]turnView{}, map[string][]string{}
	for _, t := range turns {
		byID[t.ID] = t
		if text := texts[t.Answer]; text != "" {
			answers[text] = append(answers[text], t.ID)
		}
		if t.State == running {
			open = append(open, t.ID)
		} else {
			j.final(v, r, t)
		}
	}
	told := map[string]bool{} // turns whose end a client saw, in whatever attempt
	for _, s := range seen {
		told[s.Turn] = told[s.Turn] || s.Outcome == Answered
	}
	for _, s := range seen {
		switch t := byID[s.Turn]; {
		case s.Outcome == Answered:
			kept(v, r, s, t, stored{texts, answers[s.Text]})
		case j.Rules.Exact && t.State == completed && !told[s.Turn] && (s.Outcome == Refused || s.Outcome == BrokenOff):
			v.Fail(Unexpected, "stored as completed at %s: %s", r.Name, s)
		}
	}
	return v, open
}

func anyCommitted(seen []*Seen) bool {
	for _, s := range seen {
		if s.Committed() {
			return true
		}
	}
	return false
}

// final judges that a final state is the one that was told before.
func (j *Judge) final(v *Verdict, r *Replica, t turnView) {
	j.mu.Lock()
	defer j.mu.Unlock()
	was := j.states[t.ID]
	if was != "" && was != t.State {
		v.Fail(Unstable, "%s of %s was %s and is %s at %s", t.ID, t.Session, was, t.State, r.Name)
	}
	if t.State == interrupted {
		v.Interrupted++
	}
	j.states[t.ID], j.homes[t.ID] = t.State, t.Session
}

// texts are the messages of a session by their ids: those of the current branch, and the answers of other branches with their
// questions.
func (j *Judge) texts(ctx context.Context, v *Verdict, r *Replica, id string, turns []turnView) (map[string]string, error) {
	texts := map[string]string{}
	page, err := messages(ctx, r, id, "?limit=200")
	if err != nil {
		return nil, err
	}
	once := map[string]bool{}
	for _, m := range page {
		texts[m.ID] = m.Text
		if m.Role == "assistant" && m.Text != "" && once[m.Text] {
			v.Fail(Doubled, "%s at %s has twice %q", id, r.Name, m.Text)
		}
		once[m.Text] = true
	}
	for _, t := range turns {
		if _, known := texts[t.Answer]; known || t.Answer == "" {
			continue
		}
		page, err := messages(ctx, r, id, "?limit=2&tip="+t.Answer)
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			texts[m.ID] = m.Text
		}
	}
	return texts, nil
}

func messages(ctx context.Context, r *Replica, id, query string) ([]messageView, error) {
	var page struct{ Messages []messageView }
	if err := r.Get(ctx, "/api/sessions/"+id+"/messages"+query, &page); err != nil {
		return nil, fmt.Errorf("messages: %w", err)
	}
	return page.Messages, nil
}

// stored is what the store has for an entry of the ledger: all texts of its session, and the turns with its answer's text.
type stored struct {
	texts map[string]string
	same  []string
}

// kept judges that an end that a client saw is what is stored.
func kept(v *Verdict, r *Replica, s *Seen, t turnView, has stored) {
	switch {
	case t.ID == "":
		v.Fail(Lost, "no turn at %s: %s", r.Name, s)
	case t.State != completed:
		v.Fail(Lost, "%s at %s: %s", t.State, r.Name, s)
	case has.texts[t.Answer] != s.Text:
		v.Fail(Lost, "with the text %q at %s: %s", has.texts[t.Answer], r.Name, s)
	case len(has.same) != 1:
		v.Fail(Doubled, "in %v at %s: %s", has.same, r.Name, s)
	case has.texts[t.Question] != s.Question.Text():
		v.Fail(Lost, "with the question %q at %s: %s", has.texts[t.Question], r.Name, s)
	}
}
