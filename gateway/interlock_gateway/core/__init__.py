"""What a call, a decision, a session and a tool are. Pure: the standard library and these models, no I/O, no clock."""
