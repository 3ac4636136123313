package turn

// UnderWay counts the turns of this process that run or wait to, as far as others can find them.
func (r *Runner) UnderWay() int {
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	return len(r.table.ofTurn)
}
