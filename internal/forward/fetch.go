package forward

import "context"

// Fetch sends a call and reads its whole answer, of whatever kind it is. What it gives lies within Limits.Answer.
func (e *Engine) Fetch(ctx context.Context, c Call) (status int, body []byte, err error) {
	r, err := e.Open(ctx, c)
	if err != nil {
		return 0, nil, err
	}
	defer r.Close()
	r.judge(Outcome{})
	body, err = r.readAll()
	if err != nil {
		return 0, nil, r.bad("The upstream %s broke off in the middle of its answer; try again.", err)
	}
	return r.Status, body, nil
}
