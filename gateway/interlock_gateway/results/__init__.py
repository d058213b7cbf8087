"""From what a tool returned to what an agent reads: redact, limit, store (PIPE-11, RES-1 to RES-6)."""
