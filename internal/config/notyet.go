package config

// NotYet names the keys that are set to something else than their default and have no effect in this release.
func NotYet(cfg Config) []string {
	plain := Default()
	table := []struct {
		key string
		set bool
	}{
		{"routing.policy", cfg.Routing.Policy != plain.Routing.Policy},
		{"models", len(cfg.Models) > 0},
		{"sessions.commands", len(cfg.Sessions.Commands) != len(plain.Sessions.Commands)},
		{"sessions.learn_headers", cfg.Sessions.LearnHeaders != plain.Sessions.LearnHeaders},
		{"sessions.match_content", cfg.Sessions.MatchContent != plain.Sessions.MatchContent},
		{"workspace.detach", cfg.Workspace.Detach != plain.Workspace.Detach},
		{"telemetry.otlp", cfg.Telemetry.OTLP != ""},
	}
	var keys []string
	for _, row := range table {
		if row.set {
			keys = append(keys, row.key)
		}
	}
	return keys
}
