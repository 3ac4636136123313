package signin

import (
	"net/http"
	"time"
)

// The cookie's names. A browser takes the first one over https only, for this very host, and no other host can set it.
const (
	secureName = "__Host-mooring_sign_in"
	plainName  = "mooring_sign_in"
)

// Transport is how the browser reaches the server, as far as is known.
type Transport int

// Unknown stands for plain HTTP too: behind a TLS proxy a request need not show how it began.
const (
	Unknown Transport = iota
	TLS
)

// Token is what the request's cookie holds, "" where there is none. One that came over TLS beats the other, and is the only one
// that counts where the request shows that it began there. A name with two values, as another host of the same domain
// can bring about, counts for nothing.
func Token(r *http.Request, over Transport) string {
	for _, name := range names(over) {
		cookies := r.CookiesNamed(name)
		if len(cookies) == 0 {
			continue
		}
		for _, c := range cookies {
			if c.Value != cookies[0].Value {
				return ""
			}
		}
		return cookies[0].Value
	}
	return ""
}

func names(over Transport) []string {
	if over == TLS {
		return []string{secureName}
	}
	return []string{secureName, plainName}
}

// Cookie keeps a token in the browser, out of reach of scripts and of other sites. It is kept as long as a sign-in can last at
// all; when it ends before is the server's to say.
func Cookie(token string, over Transport) *http.Cookie {
	name := plainName
	if over == TLS {
		name = secureName
	}
	return bake(name, token, int(Longest/time.Second))
}

// Expired are the cookies that take away those that the request brought.
func Expired(r *http.Request) []*http.Cookie {
	var list []*http.Cookie
	for _, name := range []string{secureName, plainName} {
		if len(r.CookiesNamed(name)) > 0 {
			list = append(list, bake(name, "", -1))
		}
	}
	return list
}

func bake(name, value string, maxAge int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // over plain HTTP a Secure cookie would be thrown away
		Name: name, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: name == secureName, SameSite: http.SameSiteStrictMode,
	}
}
