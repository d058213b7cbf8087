"""The gRPC surface: services, errors, the server."""
