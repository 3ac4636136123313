package config

// NotYet names the keys that are set to something else than their default and have no effect in this release.
func NotYet(cfg Config) []string {
	type row struct {
		key string
		set bool
	}
	var table []row
	var keys []string
	for _, r := range table {
		if r.set {
			keys = append(keys, r.key)
		}
	}
	return keys
}
