package identify_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/identify"
)

func TestNameKey(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, given, key string
		class            mooring.AliasClass
	}{
		{"a key that people choose is generic", "dir/my talk?", "dir/my talk?", mooring.ClassGeneric},
		{"an unguessable one names the session everywhere", "7f0c1a52-6b54-4c39-9c7c-0d6f0d9d6f11", "7f0c1a52-6b54-4c39-9c7c-0d6f0d9d6f11", mooring.ClassAny},
		{"so does a minted one", "api-7f0c1a52-6b54-4c39-9c7c-0d6f0d9d6f11", "api-7f0c1a52-6b54-4c39-9c7c-0d6f0d9d6f11", mooring.ClassAny},
		{"what a header loses is no part of it", " \tberth ", "berth", mooring.ClassGeneric},
		{"the longest", strings.Repeat("é", 128), strings.Repeat("é", 128), mooring.ClassGeneric},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			key, names, err := identify.NameKey(row.given)
			if diff := cmp.Diff([]mooring.Alias{{Class: row.class, Value: row.key}}, names); diff != "" || key != row.key || err != nil {
				t.Errorf("NameKey = %q, %v (-want +got):\n%s", key, err, diff)
			}
		})
	}
	for _, given := range []string{"", " ", "new", "NULL", "{{chat_id}}", "00000000-0000-0000-0000-000000000000", strings.Repeat("x", 257), "a\x07b", "a\x7f"} {
		t.Run("refused: "+given, func(t *testing.T) {
			t.Parallel()
			if _, _, err := identify.NameKey(given); mooring.CodeOf(err) != mooring.CodeInvalidSessionID {
				t.Errorf("NameKey(%q): %v, want invalid_session_id", given, err)
			}
		})
	}
}
