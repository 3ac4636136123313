package harness

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// read notes what comes of an answer. A stream's end counts as seen with its terminal event: there SDKs stop to read.
func (s *Seen) read(res *http.Response) {
	s.Header = Now()
	s.Status = res.StatusCode
	s.Session, s.Turn = res.Header.Get("X-Mooring-Session"), res.Header.Get("X-Mooring-Turn")
	s.Upstream = res.Header.Get("X-Mooring-Upstream")
	body, err := io.ReadAll(res.Body)
	s.Ended = Now()
	if err != nil {
		s.Note = err.Error()
	}
	switch {
	case res.StatusCode/100 != 2:
		s.refusal(body, err)
		if code := res.Header.Get("X-Mooring-Error"); code != "" {
			s.Code = code // Anthropic's errors have a type alone
		}
	case strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream"):
		s.stream(body, err)
	default:
		s.whole(body, err)
	}
}

// failure is an error object of either protocol.
type failure struct {
	Error struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	} `json:"error"`
}

// code is what tells errors apart.
func (f failure) code() string {
	if code, ok := f.Error.Code.(string); ok && code != "" {
		return code
	}
	return f.Error.Type
}

func (s *Seen) refusal(body []byte, err error) {
	var f failure
	switch {
	case err != nil:
		s.Outcome = Cut
	case json.Unmarshal(body, &f) != nil || f.Error.Message == "":
		s.Outcome, s.Note = Muddled, string(body)
	default:
		s.Outcome, s.Code = Refused, f.code()
	}
}

func (s *Seen) whole(body []byte, err error) {
	var answer struct {
		Choices []struct {
			Message struct{ Content string } `json:"message"`
		} `json:"choices"`
		Content []struct{ Text string } `json:"content"`
	}
	switch {
	case err != nil:
		s.Outcome = Cut
		return
	case json.Unmarshal(body, &answer) != nil:
		s.Outcome, s.Note = False, string(body)
		return
	case len(answer.Choices) > 0:
		s.Text = answer.Choices[0].Message.Content
	case len(answer.Content) > 0:
		s.Text = answer.Content[0].Text
	}
	s.judgeText()
}

// judgeText says whether a complete answer is the one to the question.
func (s *Seen) judgeText() {
	s.Outcome = Answered
	if !s.Right(s.Text) {
		s.Outcome = False
	}
}

func (s *Seen) stream(body []byte, err error) {
	var text strings.Builder
	var ended, failed bool
	for event := range bytes.SplitSeq(body, []byte("\n\n")) {
		data := dataOf(event)
		if bytes.Equal(data, []byte("[DONE]")) {
			ended = true
			continue
		}
		var e struct {
			Type    string `json:"type"`
			Choices []struct {
				Delta struct{ Content string } `json:"delta"`
			} `json:"choices"`
			Delta struct{ Text string } `json:"delta"`
			failure
		}
		if len(data) == 0 || json.Unmarshal(data, &e) != nil {
			continue // a piece that was cut off
		}
		if e.Error.Message != "" {
			failed, s.Code = true, e.code()
		}
		ended = ended || e.Type == "message_stop"
		text.WriteString(e.Delta.Text)
		for _, c := range e.Choices {
			text.WriteString(c.Delta.Content)
		}
	}
	s.Text = text.String()
	switch {
	case failed:
		s.Outcome = BrokenOff
	case ended:
		s.judgeText()
	case err != nil:
		s.Outcome = Cut
	default:
		s.Outcome, s.Note = False, "the stream ended in good order, without its terminal event and without an error"
	}
}

func dataOf(event []byte) []byte {
	for line := range bytes.Lines(event) {
		if data, found := bytes.CutPrefix(line, []byte("data:")); found {
			return bytes.TrimSpace(data)
		}
	}
	return nil
}
