// Package mooring holds the nouns of the product: sessions and the turns, messages, aliases and pins that belong to them,
// the units of change that a store commits, and the errors that a client may be shown.
//
// It imports the standard library only and knows neither a transport nor a database. Every other room of the house speaks
// in these types; the interfaces that connect the rooms stand with their consumers.
package mooring
