package wire

import "bytes"

const bom = "\xef\xbb\xbf"

// splitter finds the units of an event stream in a buffer that grows: whole events, and lines that are in none.
type splitter struct {
	start int  // of the unit that is not whole yet
	line  int  // start of its last line
	scan  int  // how far that line is known to hold no end
	begun bool // the unit has a line already
}

// next gives the next whole unit. A CR at the end of the buffer waits for what follows: it may be half a CRLF.
func (s *splitter) next(buf []byte) ([]byte, bool) {
	for {
		line, end := s.lineEnd(buf)
		if end < 0 {
			return nil, false
		}
		s.line, s.scan = end, end
		if len(line) == 0 || (!s.begun && comment(line)) {
			unit := buf[s.start:end]
			s.start, s.begun = end, false
			return unit, true
		}
		s.begun = true
	}
}

// lineEnd gives the current line and the index behind its end; -1 where the end has not come.
func (s *splitter) lineEnd(buf []byte) ([]byte, int) {
	rest := buf[s.scan:]
	lf := bytes.IndexByte(rest, '\n')
	if lf >= 0 {
		rest = rest[:lf]
	}
	cr := bytes.IndexByte(rest, '\r')
	switch at := s.scan + cr; {
	case cr >= 0 && at+1 == len(buf):
		s.scan = at
		return nil, -1
	case cr >= 0 && buf[at+1] == '\n':
		return buf[s.line:at], at + 2
	case cr >= 0:
		return buf[s.line:at], at + 1
	case lf >= 0:
		return buf[s.line : s.scan+lf], s.scan + lf + 1
	}
	s.scan = len(buf)
	return nil, -1
}

// shift says that n bytes have been taken off the front of the buffer.
func (s *splitter) shift(n int) {
	s.start -= n
	s.line -= n
	s.scan -= n
}

func comment(line []byte) bool {
	line = bytes.TrimPrefix(line, []byte(bom))
	return len(line) > 0 && line[0] == ':'
}

// fields gives the name and the data of an event. Several data lines are joined in scratch, which is given back.
func fields(event, scratch []byte) (name, data, joined []byte) {
	event = bytes.TrimPrefix(event, []byte(bom))
	lines := 0
	joined = scratch[:0]
	for len(event) > 0 {
		var line []byte
		line, event = cutLine(event)
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "event":
			name = value
		case "data":
			if lines++; lines == 1 {
				data = value
				break
			}
			if lines == 2 {
				joined = append(joined, data...)
			}
			joined = append(append(joined, '\n'), value...)
		}
	}
	if lines > 1 {
		data = joined
	}
	return name, data, joined
}

// cutLine cuts off the first line; the end may be CRLF, LF or CR.
func cutLine(b []byte) (line, rest []byte) {
	end := bytes.IndexByte(b, '\n')
	line = b
	if end >= 0 {
		line, rest = b[:end], b[end+1:]
	}
	cr := bytes.IndexByte(line, '\r')
	switch {
	case cr < 0:
		return line, rest
	case end >= 0 && cr == end-1:
		return line[:cr], rest
	}
	return b[:cr], b[cr+1:]
}

// LooksLikeSSE says whether a body begins as an event stream does, whatever its content type says. JSON never does.
func LooksLikeSSE(prefix []byte) bool {
	prefix = bytes.TrimLeft(bytes.TrimPrefix(prefix, []byte(bom)), " \t\r\n")
	for _, field := range []string{":", "data:", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(prefix, []byte(field)) {
			return true
		}
	}
	return false
}
