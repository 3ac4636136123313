package mooring

import "time"

// SearchQuery asks for the messages and sessions of a tenant that hold every word of a text.
type SearchQuery struct {
	Text  string
	Limit int
}

// SearchHit is a message that holds the words, or a session whose title, key or id does: then Message and Role are empty.
type SearchHit struct {
	Session   SessionID
	Key       string
	Title     string
	Message   MessageID
	Role      string
	Snippet   string // plain text around the first word found
	CreatedAt time.Time
}

// SearchPage is the newest of what was found.
type SearchPage struct {
	Hits     []SearchHit
	Degraded bool // more may hold the words: the index is behind, or a bound ended the search
}

// SearchTerm is a word as the index has it.
type SearchTerm struct {
	Text   string
	Begins bool // longer words that begin like this count too
}

// Backlog is what the index of messages has still to do.
type Backlog struct {
	Last    int64 // the newest entry of the queue; 0 where it is empty
	Deleted int64 // how often sessions were deleted that had words in the index
	Wiped   int64 // up to which of these deletions the words are out of the file, too
}

// Unindexed is an entry of the queue: a message that the index does not have yet.
type Unindexed struct {
	Seq     int64
	Tenant  Tenant
	Message MessageID
	Kind    Kind // of its turn; empty where it has none
}

// IndexEntry is what the index is to have of a message.
type IndexEntry struct {
	Unindexed
	Terms string // each word once, separated by spaces; nothing but the entry's place in the queue goes where there is none
}

// Index puts messages into the index and takes them from the queue. One that is gone meanwhile, or that another replica has
// just taken, is left out.
type Index struct {
	Entries []IndexEntry

	Taken int // after the commit: how many left the queue
	Err   error
}

// Outcome gives Err.
func (c *Index) Outcome() error { return c.Err }

// Compact takes a step in getting the words of deleted sessions out of the file: what a deletion leaves is not found any more, and
// is still there.
type Compact struct {
	Pages int   // how much of the index the step may rewrite
	UpTo  int64 // the Deleted of the backlog when the first step was taken
	Wiped bool  // after the commit: it was the last one
	Err   error
}

// Outcome gives Err.
func (c *Compact) Outcome() error { return c.Err }

// RecentPage asks for a tenant's newest messages.
type RecentPage struct {
	Below    MessageID // only older ones; empty for all
	MaxBytes int       // contents that are longer are left out
	Limit    int
}

// Found is a message that a search came by, with its session.
type Found struct {
	Place   int64 // in the index; older ones have smaller places
	Session Session
	Message Message // Content is nil where it is longer than was asked for
}
