package config

import _ "embed" // the schema

// schema is made from the structs and their comments by the tests (-update).
//
//go:embed schema.json
var schema []byte

// Schema gives the JSON schema of the configuration file.
func Schema() []byte { return schema }
