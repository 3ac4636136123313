package config

import "time"

// Sessions is how conversations are told apart, kept and given up.
type Sessions struct {
	// `full` keeps the texts; `metadata` never writes one.
	Transcripts string `jsonschema:"enum=full,enum=metadata" yaml:"transcripts"`

	// How long whole sessions are kept after the last activity of their root.
	Retention time.Duration `yaml:"retention"`

	// Chat commands that are understood; `[]` switches them off.
	Commands []string `yaml:"commands"`

	// What a second turn in a busy session does; unset it is `queue` where the state is remote, else `allow`.
	Concurrency string `jsonschema:"enum=,enum=allow,enum=queue,enum=reject" yaml:"concurrency"`

	// Bounds of the queue before a busy session.
	Queue Queue `yaml:"queue"`

	// Whether headers that always go with one conversation are learned as its id.
	LearnHeaders bool `yaml:"learn_headers"`

	// Whether what messages say counts: a request without an id is recognised by the conversation that it repeats, a sub-agent
	// by its task, a title or summary by what it asks for. Without it ids, headers and routes alone decide, kinds included.
	MatchContent bool `yaml:"match_content"`

	// Bound of the identification cache.
	Memory Bytes `yaml:"memory"`

	// `minimal` sends no `X-Mooring-*` headers to clients.
	ResponseHeaders string `jsonschema:"enum=full,enum=minimal" yaml:"response_headers"`

	// Further header names that carry a session id here; a name that is known for something else, as for a credential, is refused.
	Headers []string `yaml:"headers"`

	// Whether an operator may read tenants' texts (with `?tenant=`).
	OperatorReads bool `yaml:"operator_reads"`
}

// Queue bounds the turns that wait for a busy session.
type Queue struct {
	// Turns that may wait; the next one is refused.
	Depth int `yaml:"depth"`

	// How long a turn waits.
	Wait time.Duration `yaml:"wait"`
}

// Workspace is how the pages behave.
type Workspace struct {
	// How long a turn begun on a page goes on while nobody listens.
	Detach time.Duration `yaml:"detach"`
}
