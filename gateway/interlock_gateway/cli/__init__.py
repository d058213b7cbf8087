"""The command line `interlock` (contract.md, Command line; docs/cli.md)."""
