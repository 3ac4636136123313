// Package archtest keeps the floors of the house: see docs/architecture.md. It holds a test only.
package archtest
