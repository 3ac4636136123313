package forward

import (
	"errors"
	"io"
	"net/http"
)

// shortAnswer is up to what size an answer that is no stream is read before it is passed on, so that it keeps its length.
const shortAnswer = 1 << 20

// Brief reads an answer whole that is an error, or says that it is short; false leaves it to Pass.
func (r *Response) Brief() (whole bool, body []byte, err error) {
	r.judge(Outcome{}) // its header is all that is looked at
	n := r.res.ContentLength
	if r.Status/100 == 2 && (r.Stream || n < 0 || n > shortAnswer) {
		return false, nil, nil
	}
	if body, err = r.readAll(); err != nil {
		return false, nil, r.bad("The upstream %s broke off in the middle of its answer; try again.", err)
	}
	if r.Status/100 != 2 {
		body = r.unkeyed(body)
	}
	return true, body, nil
}

// Length is what the answer says of its length, to a client that asked for the header alone; else that of its body.
func (r *Response) Length(body []byte) int {
	if r.call.Method == http.MethodHead && r.res.ContentLength > 0 {
		return int(r.res.ContentLength)
	}
	return len(body)
}

// Pass passes an answer on as it comes, whatever it is. After an error the client must not take what it has for the whole.
func (r *Response) Pass(sink Sink) error {
	for {
		data, err := r.pump.next()
		r.idle.Reset(r.limits.StreamIdle)
		gone := len(data) > 0 && sink.Write(data, nil) != nil
		switch {
		case gone, errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return http.ErrAbortHandler
		}
	}
}
