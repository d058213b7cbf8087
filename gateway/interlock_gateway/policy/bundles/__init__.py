"""Bundles of policies in OPA's format: read, verified, built and signed (LIFE-4)."""
