package app

import (
	"slices"
	"strconv"
	"time"

	"mooring"
	"mooring/internal/config"
	"mooring/internal/echo"
	"mooring/internal/forward"
	"mooring/internal/price"
	"mooring/internal/serve"
	"mooring/internal/turn"
	"mooring/internal/upstream"
	"mooring/internal/wire"
)

// upstreams makes the configured servers.
func upstreams(cfg config.Config) ([]*upstream.Upstream, error) {
	out := make([]*upstream.Upstream, 0, len(cfg.Upstreams))
	for _, c := range cfg.Upstreams {
		u, err := upstream.New(specOf(cfg, c))
		if err != nil {
			return nil, &config.Error{Key: "upstreams", Msg: err.Error()}
		}
		out = append(out, u)
	}
	return out, nil
}

func specOf(cfg config.Config, c config.Upstream) upstream.Spec {
	s := upstream.Spec{
		Name: c.Name, URL: c.URL, Speaks: upstream.Speaks(c.Protocol), Models: c.Models, Remote: c.State == config.StateRemote,
		SessionHeaders: c.SessionHeaders, Weight: c.Weight, Health: c.Health, Passthrough: c.Passthrough, Timeout: c.Timeout,
		MaxInFlight: c.MaxInFlight, Headers: map[string]string{}, Failover: cfg.FailoverOf(c),
	}
	for name, value := range c.Headers {
		s.Headers[name] = value.Reveal()
	}
	for _, k := range c.Keys {
		s.Accounts = append(s.Accounts, upstream.Account{Name: k.Name, Key: k.Key, Weight: k.Weight})
	}
	switch {
	case c.Builtin != "":
		s.Builtin, s.KeyMode = echo.New(time.Now), upstream.KeyNone
	case c.SendsNone():
		s.KeyMode = upstream.KeyNone
	case len(c.Keys) > 0:
	case c.ForwardsClient() || c.Key == "":
		s.KeyMode = upstream.KeyClient
	default:
		s.Accounts = []upstream.Account{{Key: c.Key, Weight: 1}}
	}
	return s
}

func clientKeys(cfg *config.Config) []serve.Key {
	out := make([]serve.Key, len(cfg.Keys))
	for i, k := range cfg.Keys {
		out[i] = serve.Key{
			Name: k.Name, Tenant: k.Tenant, Role: k.Role, Hash: k.Sum(), Expires: k.Expires, Models: k.Models, RequestsPerMinute: k.RequestsPerMinute,
			Streams: k.Streams, BudgetUSD: k.BudgetUSD,
		}
	}
	return out
}

// linger is how long a stream that has said it is complete is waited for to say so in its protocol's own way (docs/limits.md).
const linger = 2 * time.Second

func answerLimits(cfg *config.Config) forward.Limits {
	return forward.Limits{Peek: cfg.Limits.Peek, StreamIdle: cfg.Limits.StreamIdle, Answer: int(cfg.Limits.Answer), Linger: linger}
}

func turnRules(cfg *config.Config) turn.Rules {
	r := turn.Rules{
		Concurrency: turn.Concurrency(cfg.Sessions.Concurrency), QueueDepth: cfg.Sessions.Queue.Depth, QueueWait: cfg.Sessions.Queue.Wait,
		Commands: cfg.Command("new"), Content: cfg.Sessions.MatchContent, Learn: cfg.Sessions.LearnHeaders,
		NoTexts: cfg.Sessions.Transcripts == config.TranscriptsMetadata, Returns: cfg.Routing.OnRecovery == config.RecoveryReturn,
		Inherit: cfg.Routing.Subagents == config.SubagentsInherit, Aliases: cfg.Models,
	}
	for _, on := range cfg.Routing.FailoverOn {
		switch on {
		case config.FailUnreachable:
			r.FailoverOn.Unreachable = true
		case config.Fail5xx:
			r.FailoverOn.Any5xx = true
		default:
			if status, err := strconv.Atoi(on); err == nil {
				r.FailoverOn.Statuses = append(r.FailoverOn.Statuses, status)
			}
		}
	}
	return r
}

func (a *App) setPrices(cfg config.Config) {
	prices := make(map[string]price.Price, len(cfg.Prices))
	for glob, p := range cfg.Prices {
		prices[glob] = price.Price(p)
	}
	a.prices.Store(price.NewTable(prices, a.listed))
}

// fixed names the keys that differ between two configurations and take a restart.
func fixed(old, next config.Config) []string {
	var out []string
	for _, key := range []struct {
		name string
		same bool
	}{
		{"listen", old.Listen == next.Listen},
		{"store", old.Store == next.Store},
		{"secret", old.Secret == next.Secret},
		{"sessions.retention", old.Sessions.Retention == next.Sessions.Retention},
		{"sessions.memory", old.Sessions.Memory == next.Sessions.Memory},
		{"sessions.headers", slices.Equal(old.Sessions.Headers, next.Sessions.Headers)},
		{"limits.header_timeout", old.Limits.HeaderTimeout == next.Limits.HeaderTimeout},
		{"durability", old.Durability == next.Durability},
		{"telemetry.otlp", old.Telemetry.OTLP == next.Telemetry.OTLP},
		{"telemetry.format", old.Telemetry.Format == next.Telemetry.Format},
		{"edge", sameEdge(old.Edge, next.Edge)},
	} {
		if !key.same {
			out = append(out, key.name)
		}
	}
	return out
}

// rendered is the text that a person reads in a message.
func rendered(p mooring.Protocol, content []byte) string {
	_, text := wire.Render(p, content)
	return text
}
