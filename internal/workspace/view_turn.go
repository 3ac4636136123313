package workspace

import (
	"cmp"
	"time"

	"mooring"
)

type turnView struct {
	ID          mooring.TurnID        `json:"id"`
	SessionID   mooring.SessionID     `json:"session_id"`
	Kind        mooring.Kind          `json:"kind"`
	Protocol    mooring.Protocol      `json:"protocol"`
	Model       *string               `json:"model"`
	Stream      bool                  `json:"stream"`
	State       mooring.TurnState     `json:"state"`
	Status      *int                  `json:"status"`
	ErrorCode   *mooring.Code         `json:"error_code"`
	Upstream    *mooring.UpstreamName `json:"upstream"`
	Account     *mooring.AccountName  `json:"account"`
	Pin         *mooring.PinMark      `json:"pin"`
	Identity    string                `json:"identity"`
	Evidence    []mooring.Evidence    `json:"evidence"`
	Attempts    []attemptView         `json:"attempts"`
	Usage       usageView             `json:"usage"`
	CostUSD     *float64              `json:"cost_usd"`
	StartedAt   instant               `json:"started_at"`
	FirstByteAt instant               `json:"first_byte_at"`
	EndedAt     instant               `json:"ended_at"`
	DurationMS  *int64                `json:"duration_ms"`
	QuestionID  *mooring.MessageID    `json:"question_id"`
	AnswerID    *mooring.MessageID    `json:"answer_id"`
	View        *mooring.View         `json:"view"`
}

func viewTurn(t *mooring.Turn) turnView {
	attempts := make([]attemptView, len(t.Attempts))
	for i := range t.Attempts {
		attempts[i] = viewAttempt(&t.Attempts[i], t.Model)
	}
	return turnView{
		ID:          t.ID,
		SessionID:   t.Session,
		Kind:        t.Kind,
		Protocol:    t.Protocol,
		Model:       known(t.Model),
		Stream:      t.Stream,
		State:       t.State,
		Status:      status(t.Status),
		ErrorCode:   known(t.ErrorCode),
		Upstream:    known(t.Upstream),
		Account:     known(t.Account),
		Pin:         known(t.Pin),
		Identity:    t.Identity,
		Evidence:    list(t.Evidence),
		Attempts:    attempts,
		Usage:       viewUsage(t.Usage),
		CostUSD:     dollars(t.CostUSD),
		StartedAt:   instant(t.StartedAt),
		FirstByteAt: instant(t.FirstAt),
		EndedAt:     instant(t.EndedAt),
		DurationMS:  duration(t.StartedAt, t.EndedAt),
		QuestionID:  known(t.Question),
		AnswerID:    known(t.Answer),
		View:        t.View,
	}
}

type attemptView struct {
	Upstream   *mooring.UpstreamName `json:"upstream"`
	Account    *mooring.AccountName  `json:"account"`
	Why        *mooring.Why          `json:"why"`
	Alias      *string               `json:"alias"`
	Model      *string               `json:"model"`
	Tries      int                   `json:"tries"`
	State      mooring.TurnState     `json:"state"`
	Status     *int                  `json:"status"`
	Reason     *string               `json:"reason"`
	Usage      usageView             `json:"usage"`
	StartedAt  instant               `json:"started_at"`
	EndedAt    instant               `json:"ended_at"`
	DurationMS *int64                `json:"duration_ms"`
}

func viewAttempt(a *mooring.Attempt, model string) attemptView {
	return attemptView{
		Upstream:   known(a.Upstream),
		Account:    known(a.Account),
		Why:        known(a.Why),
		Alias:      known(a.Alias),
		Model:      known(cmp.Or(a.Model, model)),
		Tries:      max(a.Tries, 1),
		State:      a.State,
		Status:     status(a.Status),
		Reason:     known(a.Reason),
		Usage:      viewUsage(a.Usage),
		StartedAt:  instant(a.StartedAt),
		EndedAt:    instant(a.EndedAt),
		DurationMS: duration(a.StartedAt, a.EndedAt),
	}
}

// status gives null while there is none.
func status(code int) *int {
	if code == 0 {
		return nil
	}
	return &code
}

// duration gives null while the end is open.
func duration(from, to time.Time) *int64 {
	if to.IsZero() {
		return nil
	}
	ms := to.Sub(from).Milliseconds()
	return &ms
}
