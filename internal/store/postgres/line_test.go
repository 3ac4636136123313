package postgres_test

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// The directions of a line to a server.
const (
	there = iota
	back
)

// line gives the address of a server in front of the one of an address. pass hands on what comes in one direction of a connection, until that
// ends.
func line(t *testing.T, dsn string, pass func(to, from net.Conn, side int)) string {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = front.Close() })
	to := net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	if !strings.Contains(dsn, to) {
		t.Skip("the server's address is not in host:port form")
	}
	go func() {
		for {
			client, err := front.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				return
			}
			go pass(server, client, there)
			go pass(client, server, back)
		}
	}()
	return strings.Replace(dsn, to, front.Addr().String(), 1)
}
