package config

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"
)

func (c *Config) checkModels() error {
	for name, targets := range c.Models {
		if len(targets) == 0 {
			return wrong("models."+name, "stands for no model")
		}
		if name == "" {
			return wrong("models", "a name is missing")
		}
		for i, target := range targets {
			if err := c.checkTarget(fmt.Sprintf("models.%s[%d]", name, i), name, target); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTarget holds a model that an alias stands for against what can be asked of an upstream: a name, and none that stands for others.
func (c *Config) checkTarget(at, alias, target string) error {
	switch _, other := c.Models[target]; {
	case target == "":
		return wrong(at, "is empty; name a model")
	case strings.ContainsAny(target, "*?"):
		return wrong(at, "%q is a glob; name a model", target)
	case other && target != alias:
		return wrong(at, "%q stands for models itself; name one of them", target)
	}
	return nil
}

func (c *Config) checkPrices() error {
	for model, price := range c.Prices {
		for name, usd := range map[string]*float64{
			"input": price.Input, "output": price.Output, "cache_read": price.CacheRead,
			"cache_write_5m": price.CacheWrite5m, "cache_write_1h": price.CacheWrite1h,
		} {
			if usd != nil && (*usd < 0 || math.IsNaN(*usd) || math.IsInf(*usd, 0)) {
				return wrong("prices."+model+"."+name, "must be 0 or more")
			}
		}
	}
	return nil
}

func (c *Config) checkSessions() error {
	for i, command := range c.Sessions.Commands {
		if command != "new" {
			return wrong(fmt.Sprintf("sessions.commands[%d]", i), "%q is not one of new", command)
		}
	}
	if c.Sessions.Queue.Depth < 0 {
		return wrong("sessions.queue.depth", "must be 0 or more")
	}
	if c.Sessions.Memory < mebibyte {
		return wrong("sessions.memory", "must be 1MiB or more")
	}
	if err := positive("sessions.retention", c.Sessions.Retention); err != nil {
		return err
	}
	return checkIDHeaders("sessions.headers", c.Sessions.Headers)
}

func (c *Config) checkLimits() error {
	switch l := c.Limits; {
	case l.Body < 1:
		return wrong("limits.body", "must be more than 0")
	case l.Answer < 1:
		return wrong("limits.answer", "must be more than 0")
	case l.JSONDepth < 1:
		return wrong("limits.json_depth", "must be 1 or more")
	}
	if err := positive("limits.header_timeout", c.Limits.HeaderTimeout); err != nil {
		return err
	}
	return positive("limits.stream_idle", c.Limits.StreamIdle)
}

func (c *Config) checkTelemetry() error {
	if c.Telemetry.OTLP == "" {
		return nil
	}
	u, err := url.Parse(c.Telemetry.OTLP.Reveal())
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return wrong("telemetry.otlp", "needs an address as in http://127.0.0.1:4318")
	}
	return nil
}

func positive(key string, d time.Duration) error {
	if d <= 0 {
		return wrong(key, "must be more than 0")
	}
	return nil
}
