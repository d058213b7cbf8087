//go:build tools

// Package tools pins Dex, which has no release that `go install` takes: its version tags do not fit its module path.
package tools

import _ "github.com/dexidp/dex/cmd/dex"
