"""TLS of the TCP listeners: certificates that are read again when they change, and what is known of who connects."""
