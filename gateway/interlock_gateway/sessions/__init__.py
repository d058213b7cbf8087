"""Live sessions: whose they are, what has happened in them, and which calls may run side by side."""
