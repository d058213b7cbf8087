"""What policies must be before they decide anything: readable, tested, and reaching for their input alone (LIFE-1)."""
