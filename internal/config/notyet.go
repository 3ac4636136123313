package config

// NotYet names the keys that are set to something else than their default and have no effect in this release.
func NotYet(cfg Config) []string {
	plain := Default()
	type row struct {
		key string
		set bool
	}
	table := []row{
		{"routing.failover: " + FailoverWait, cfg.Routing.Failover == FailoverWait},
		{"routing.on_recovery", cfg.Routing.OnRecovery != plain.Routing.OnRecovery},
		{"routing.subagents", cfg.Routing.Subagents != plain.Routing.Subagents},
		{"models", len(cfg.Models) > 0},
	}
	var keys []string
	for _, r := range table {
		if r.set {
			keys = append(keys, r.key)
		}
	}
	return keys
}
