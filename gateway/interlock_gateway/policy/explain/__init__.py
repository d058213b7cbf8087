"""Why policy says what it says of a call: rules that fired, that nearly did, and what they looked at (LIFE-2)."""
