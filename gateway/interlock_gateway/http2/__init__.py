"""gRPC over HTTP/2 as bytes, for both ends of a connection: what the listeners and the providers' channels share."""
