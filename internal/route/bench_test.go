package route_test

import (
	"testing"
	"time"

	"mooring"
	"mooring/internal/route"
)

func BenchmarkFind(b *testing.B) {
	p := newPicker(&berths{pins: map[mooring.SessionID][]mooring.Pin{"ses_1": {pin("a,b,c", "b", time.Now())}}})
	all := candidates("c", "a", "b")
	b.ReportAllocs()
	for b.Loop() {
		if pin, err := p.Find(b.Context(), "acme", "ses_1", all); pin == nil || err != nil {
			b.Fatal(pin, err)
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	all := candidates("a", "b", "c")
	b.ReportAllocs()
	for b.Loop() {
		route.Order(route.Rendezvous, "ses_01ARZ3NDEKTSV4RRFFQ69G5FAV", 0, all)
	}
}
