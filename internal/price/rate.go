package price

import (
	"encoding/json"

	"mooring"
)

// tariff is what a model costs from some time on.
type tariff struct {
	From         string `json:"from"` // a day, in UTC; empty for always
	Input        *rate  `json:"input"`
	Output       *rate  `json:"output"`
	CacheRead    *rate  `json:"cache_read"`
	CacheWrite5m *rate  `json:"cache_write_5m"`
	CacheWrite1h *rate  `json:"cache_write_1h"`
}

// rate is the price of one kind of token, in USD per million. A long input may make all of a request dearer.
type rate struct {
	Base  float64      `json:"base"`
	Above [][2]float64 `json:"above"` // tokens of input, cached ones counted, and the price of requests with more; the least first
}

func flat(usd *float64) *rate {
	if usd == nil {
		return nil
	}
	return &rate{Base: *usd}
}

// of gives the price for a request with that much input; false where it is unknown, or hangs on an input that nobody told.
func (r *rate) of(input mooring.Tokens) (float64, bool) {
	if r == nil || len(r.Above) > 0 && !input.Known {
		return 0, false
	}
	usd := r.Base
	for _, step := range r.Above {
		if float64(input.N) > step[0] {
			usd = step[1]
		}
	}
	return usd, true
}

// UnmarshalJSON reads a plain number too.
func (r *rate) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return json.Unmarshal(data, &r.Base)
	}
	type plain rate
	return json.Unmarshal(data, (*plain)(r))
}
