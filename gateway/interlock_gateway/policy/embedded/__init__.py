"""The embedded engine: Rego evaluated in worker processes that can be killed and replaced (ENG-1, ENG-4)."""
