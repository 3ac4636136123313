package wiretest

import (
	"encoding/base64"
	"strings"
)

// image writes the bytes of an image in another way.
func (w writer) image(part map[string]any) {
	w.mark(part)
	holder, name := part, "image_url"
	if inside, ok := part["image_url"].(map[string]any); ok {
		holder, name = inside, "url"
		inside["detail"] = w.one("auto", "low")
	}
	if source, ok := part["source"].(map[string]any); ok {
		if data, isText := source["data"].(string); isText && source["type"] == "base64" {
			source["data"] = w.base64(data)
		}
		return
	}
	url, _ := holder[name].(string)
	if head, data, ok := strings.Cut(url, ";base64,"); ok {
		holder[name] = head + w.one(";base64,", ";charset=utf-8;BASE64,") + w.base64(data)
	}
}

func (w writer) base64(data string) string {
	clean := strings.NewReplacer("\r", "", "\n", "", "=", "", "-", "+", "_", "/").Replace(data)
	plain, err := base64.RawStdEncoding.DecodeString(clean)
	if err != nil {
		return data
	}
	coding := []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}[w.IntN(4)]
	out := coding.EncodeToString(plain)
	if at := len(out) / 2; w.coin() {
		out = out[:at] + w.one("\n", "\r\n") + out[at:]
	}
	return out
}
