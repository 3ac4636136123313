package config

import "time"

// Limits bounds what one request may take.
type Limits struct {
	// Largest request body.
	Body Bytes `yaml:"body"`

	// Largest answer of an upstream.
	Answer Bytes `yaml:"answer"`

	// Deepest nesting of a request's JSON.
	JSONDepth int `yaml:"json_depth"`

	// How long a client may take to send its request header.
	HeaderTimeout time.Duration `yaml:"header_timeout"`

	// How long an upstream's stream may be silent.
	StreamIdle time.Duration `yaml:"stream_idle"`

	// How long the header of an answer is held back for its first event, so that an early failure can still move elsewhere.
	Peek time.Duration `yaml:"peek"`
}

// CORS says which pages of other origins may call this server.
type CORS struct {
	// Exact origins, as in `https://chat.example.org`; `"*"` stands for any and needs `keys`.
	Origins []string `yaml:"origins"`
}

// Telemetry is what the server says about itself.
type Telemetry struct {
	// Least severe level that is logged.
	Log string `jsonschema:"enum=debug,enum=info,enum=warn,enum=error" yaml:"log"`

	// Form of the log on stderr.
	Format string `jsonschema:"enum=text,enum=json" yaml:"format"`

	// Address of an OpenTelemetry collector that takes traces by OTLP over HTTP, as in `http://127.0.0.1:4318`; empty for none.
	// User and password before the host are sent to it.
	OTLP CollectorURL `yaml:"otlp"`
}
