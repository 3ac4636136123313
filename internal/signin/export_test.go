package signin

// Counted is how many addresses the wrong tries of are remembered.
func Counted(b *Book) int { return len(b.guesses.from) }
