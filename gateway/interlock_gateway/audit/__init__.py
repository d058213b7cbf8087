"""Receipts: the signed, chained record of every decision (AUD-1, AUD-2; docs/audit.md)."""
