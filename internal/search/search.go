package search

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"mooring"
)

const (
	// waitFor is how long a search waits for the index to have what was committed before it.
	waitFor = 500 * time.Millisecond
	// page is how many candidates are read at once.
	page = 50
	// indexRows, indexBytes and indexTime bound the candidates that the index gives and that are read to see whether they hold the words
	// as they were typed.
	indexRows  = 2000
	indexBytes = 64 << 20
	indexTime  = time.Second
	// scanRows, scanBytes and scanTime bound the reading of the newest messages without the index; scanContent is the longest content
	// that is read.
	scanRows    = 5000
	scanBytes   = 32 << 20
	scanTime    = 500 * time.Millisecond
	scanContent = 256 << 10
	// nameRows and nameTime bound the reading of titles, keys and ids.
	nameRows = 20_000
	nameTime = 300 * time.Millisecond
)

// Search finds the newest messages of a tenant that hold every word, and sessions by title, key or the beginning of their id.
// A search that a bound ended says so.
func (x *Index) Search(ctx context.Context, t mooring.Tenant, q mooring.SearchQuery) (mooring.SearchPage, error) {
	s := &run{Index: x, tenant: t, query: parse(t, q.Text), limit: q.Limit}
	if len(s.query.words) == 0 {
		return s.found, nil
	}
	if err := x.options.Log.Sync(ctx); err != nil {
		return s.found, err
	}
	wait, cancel := context.WithTimeout(ctx, waitFor)
	s.found.Degraded = !x.current(wait)
	cancel()
	for _, step := range []step{{s.indexed, indexTime}, {s.scanned, scanTime}, {s.named, nameTime}} {
		if err := s.take(ctx, step); err != nil {
			return mooring.SearchPage{}, err
		}
	}
	hits := s.found.Hits
	slices.SortStableFunc(hits, func(a, b mooring.SearchHit) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.Message, a.Message), cmp.Compare(b.Session, a.Session))
	})
	s.found.Hits = hits[:min(len(hits), s.limit)]
	return s.found, nil
}

// run is one search under way.
type run struct {
	*Index
	tenant mooring.Tenant
	query  query
	limit  int
	found  mooring.SearchPage
	rows   int // of the step under way
	bytes  int
}

// full says that there are as many hits as are wanted.
func (s *run) full() bool { return len(s.found.Hits) >= s.limit }

// step is a part of a search, and how long it may take.
type step struct {
	do    func(context.Context) error
	bound time.Duration
}

// take takes a step. One that its bound ends has found what it has found.
func (s *run) take(ctx context.Context, one step) error {
	s.rows, s.bytes = 0, 0
	bounded, cancel := context.WithTimeout(ctx, one.bound)
	defer cancel()
	err := one.do(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		s.found.Degraded = true
		return nil
	}
	return err
}

// indexed reads what the index has under all words, until enough of it holds them as they were typed. Longer words that begin as
// the last one does count only where there is not enough without them: they are many, and mostly not what is meant.
func (s *run) indexed(ctx context.Context) error {
	seen := map[mooring.MessageID]bool{}
	for _, terms := range s.query.terms {
		if err := s.under(ctx, terms, seen); err != nil || s.full() || s.found.Degraded {
			return err
		}
	}
	return nil
}

func (s *run) under(ctx context.Context, terms []mooring.SearchTerm, seen map[mooring.MessageID]bool) error {
	for below := int64(math.MaxInt64); ; {
		list, err := s.options.Store.Found(ctx, s.tenant, terms, below, page)
		if err != nil {
			return err
		}
		for i := range list {
			if seen[list[i].Message.ID] {
				continue
			}
			seen[list[i].Message.ID] = true
			if err := s.read(ctx, &list[i]); err != nil || s.full() {
				return err
			}
		}
		if len(list) < page {
			return nil
		}
		if s.rows >= indexRows || s.bytes >= indexBytes {
			s.found.Degraded = true
			return nil
		}
		below = list[len(list)-1].Place
	}
}

// read reads the content of a candidate.
func (s *run) read(ctx context.Context, f *mooring.Found) error {
	m, err := s.options.Store.Content(ctx, s.tenant, f.Message.ID)
	if err != nil {
		return err
	}
	f.Message.Protocol, f.Message.Content = m.Protocol, m.Content
	s.judge(f)
	return nil
}

// judge adds a message to the hits where it holds the words.
func (s *run) judge(f *mooring.Found) {
	s.rows++
	s.bytes += len(f.Message.Content)
	text := clip(s.options.Render(f.Message.Protocol, f.Message.Content))
	folded := fold(text)
	if !holdsAll(folded, s.query.words) {
		return
	}
	s.found.Hits = append(s.found.Hits, mooring.SearchHit{
		Session: f.Session.ID, Key: f.Session.Key, Title: f.Session.Title, Message: f.Message.ID, Role: f.Message.Role,
		Snippet: snippet(text, folded, s.query.words), CreatedAt: f.Message.CreatedAt,
	})
}

// scanned reads the newest messages themselves where the index cannot help: for signs alone, and for what stands inside a word.
func (s *run) scanned(ctx context.Context) error {
	if len(s.found.Hits) > 0 {
		return nil
	}
	whole := true
	err := s.options.Store.Recent(ctx, s.tenant, mooring.RecentPage{MaxBytes: scanContent, Limit: scanRows + 1}, func(f mooring.Found) bool {
		if s.rows >= scanRows || s.bytes >= scanBytes {
			whole = false
			return false
		}
		if f.Message.Content == nil {
			whole = false
			s.rows++
			return true
		}
		s.judge(&f)
		return !s.full()
	})
	s.found.Degraded = s.found.Degraded || !whole
	return err
}

// named adds the sessions that hold the words in their title, or the text in their key, or begin their id with it, unless a
// message of theirs is there already.
func (s *run) named(ctx context.Context) error {
	there := map[mooring.SessionID]bool{}
	for i := range s.found.Hits {
		there[s.found.Hits[i].Session] = true
	}
	rows, hits := 0, 0
	return s.options.Store.Names(ctx, s.tenant, nameRows+1, func(one mooring.Session) bool {
		if rows++; rows > nameRows {
			s.found.Degraded = true
			return false
		}
		if there[one.ID] || !s.query.names(one) {
			return true
		}
		title := clip(one.Title)
		s.found.Hits = append(s.found.Hits, mooring.SearchHit{
			Session: one.ID, Key: one.Key, Title: one.Title, Snippet: snippet(title, fold(title), s.query.words), CreatedAt: one.CreatedAt,
		})
		hits++
		return hits < s.limit
	})
}

// idStart is what every id begins with: it names none.
const idStart = "ses_"

func (q query) names(s mooring.Session) bool {
	if holdsAll(fold(clip(s.Title)), q.words) || strings.Contains(fold(clip(s.Key)), q.whole) {
		return true
	}
	return len(q.whole) > len(idStart) && strings.HasPrefix(strings.ToLower(string(s.ID)), q.whole)
}
