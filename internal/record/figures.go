package record

// Waiting counts the changes that were accepted and are not in the store yet.
func (w *Writer) Waiting() int64 { return w.waiting.Load() }

// Ahead gives the bytes of those of them that stand in the journal.
func (w *Writer) Ahead() int64 { return w.ahead.Load() }
