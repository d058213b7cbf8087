"""Recorded decisions evaluated again under other policies: what would change (LIFE-6)."""
