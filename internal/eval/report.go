package eval

// Report adds up the scores of several traces.
type Report struct {
	Families  map[string]*Score
	Baselines map[string]map[string]*Score // of the simpler ways, by their names
	Wrong     []Wrong
}

// Take adds the scores of a trace.
func (r *Report) Take(s *Scores) {
	addAll(r.Families, s.Families)
	r.Wrong = append(r.Wrong, s.Wrong...)
}

// TakeBaseline adds what a simpler way made of a trace.
func (r *Report) TakeBaseline(way string, s *Scores) {
	if r.Baselines[way] == nil {
		r.Baselines[way] = map[string]*Score{}
	}
	addAll(r.Baselines[way], s.Families)
}

func addAll(to, from map[string]*Score) {
	for name, s := range from {
		if to[name] == nil {
			to[name] = &Score{}
		}
		to[name].Add(s)
	}
}

// Names gives the families in order.
func (r *Report) Names() []string { return (&Scores{Families: r.Families}).Names() }

// Total adds up all families.
func (r *Report) Total() *Score { return Sum(r.Families) }

// Sum adds up scores.
func Sum(of map[string]*Score) *Score {
	total := &Score{}
	for _, s := range of {
		total.Add(s)
	}
	return total
}
