package config

import "fmt"

// An upstream without `key` gets the client's own credential only where no keys are configured and every upstream that
// may be asked in its place is at the same origin: what is meant for one server is never told to another.

// countsAsClient says that an upstream without `key` is as good as one with `key: client`.
func (c *Config) countsAsClient(u Upstream) bool {
	return c.Open() && c.stranger(u) == nil
}

// stranger gives an upstream at another origin that speaks a protocol of u, nil where there is none.
func (c *Config) stranger(u Upstream) *Upstream {
	for i := range c.Upstreams {
		other := &c.Upstreams[i]
		shared := u.speaks(ProtocolOpenAI) && other.speaks(ProtocolOpenAI) ||
			u.speaks(ProtocolAnthropic) && other.speaks(ProtocolAnthropic)
		if other.Builtin == "" && shared && other.Origin() != u.Origin() {
			return other
		}
	}
	return nil
}

// checkCredential refuses an upstream of which it is not said whose credential it gets.
func (c *Config) checkCredential(path string, u Upstream) error {
	const add = "add `key: ${%s}` for Mooring's own credential there, `key: client` to forward the client's, or `key: none`"
	switch {
	case u.Builtin != "" && (u.Key != "" || len(u.Keys) > 0):
		return wrong(path+".key", "upstream %q is built in and takes no credential", u.Name)
	case u.Key != "" && len(u.Keys) > 0:
		return wrong(path+".keys", "upstream %q has both key and keys; keep one of them", u.Name)
	case u.Builtin != "" || u.Key != "" || len(u.Keys) > 0:
		return nil
	case !c.Open():
		return wrong(path+".key", "upstream %q needs a key because client keys are configured: "+fmt.Sprintf(add, variable(u)), u.Name)
	}
	if other := c.stranger(u); other != nil {
		return wrong(path+".key", "upstream %q needs a key because upstream %q speaks the same protocol at another origin: "+
			fmt.Sprintf(add, variable(u)), u.Name, other.Name)
	}
	return nil
}
