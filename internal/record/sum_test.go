package record_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mooring"
	"mooring/internal/record"
)

// Hours that are over are summed up at once and then again and again, so that nobody who reads usage has to wait for it.
func TestUsageIsSummedUpBehindTheTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, storePath(t), record.Options{SumUp: true, Now: later})
		synctest.Wait()
		begin, end := beginNew(1).(*mooring.Begin), endOf(1)
		begin.Turn.ID = "trn_01AN4Z07BY79KA1307SR9X4MV3" // of 2016
		end.Turn.ID = begin.Turn.ID
		h.commit(t, begin, end)
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		c := &mooring.SumUp{Before: later()}
		if err := h.Commit(t.Context(), c); err != nil || !c.Done {
			t.Errorf("SumUp: %v, done %v; want nothing left to do", err, c.Done)
		}
		h.Close()
	})
}
