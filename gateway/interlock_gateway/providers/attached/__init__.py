"""Providers that cannot listen: they dial the gateway, and are called over the stream that they opened."""
