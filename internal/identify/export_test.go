package identify

// The bounds of what is kept of a tenant's headers.
const (
	MaxLearnedNames  = maxNames
	MaxLearnedValues = maxKept
)

// LearningBytes is what is kept in memory of all tenants' headers.
func (e *Engine) LearningBytes() int64 {
	e.lessons.CleanUp()
	n := int64(0)
	for t := range e.lessons.Values() {
		n += t.size.Load()
	}
	return n
}
