"""What outlives the process: sessions, call ids, the journal, pending actions, pins (operations.md STATE-1)."""
