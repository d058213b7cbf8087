"""gRPC served on the gateway's own loop: connections, the calls on them, and the listeners that accept them."""
