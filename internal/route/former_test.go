package route_test

import (
	"errors"
	"testing"
	"time"

	"mooring"
)

func TestFormer(t *testing.T) {
	t.Parallel()
	now := time.Now()
	claim := pin("a,b", "b", now)
	claim.Bound = false
	for _, tt := range []struct {
		rule string
		pins []mooring.Pin
		want bool
	}{
		{"a session without pins has none such", nil, false},
		{"the upstream is no more", []mooring.Pin{pin("a,b", "b", now)}, true},
		{"the candidate was never of its set", []mooring.Pin{pin("b", "b", now)}, false},
		{"the upstream is there, for other models", []mooring.Pin{pin("a,c", "c", now)}, false},
		{"it was a set of other models", []mooring.Pin{pin("b,c", "b", now)}, false},
		{"it was never answered from there", []mooring.Pin{claim}, false},
		{"it has idled out", []mooring.Pin{pin("a,b", "b", now.Add(-61*time.Minute))}, false},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			p := newPicker(&berths{pins: map[mooring.SessionID][]mooring.Pin{"ses_1": tt.pins}})
			exists := func(name mooring.UpstreamName) bool { return name != "b" } // a, the candidate, and c are there
			got, err := p.Former(t.Context(), "acme", "ses_1", candidates("a"), exists)
			if err != nil || (got != nil) != tt.want {
				t.Errorf("Former = %v, %v; want one: %v", got, err, tt.want)
			}
		})
	}
	b := &berths{}
	p := newPicker(b)
	b.fail(errors.New("away"))
	if _, err := p.Former(t.Context(), "acme", "ses_1", candidates("a"), func(mooring.UpstreamName) bool { return true }); err == nil {
		t.Error("what cannot be read is taken for nothing")
	}
}
