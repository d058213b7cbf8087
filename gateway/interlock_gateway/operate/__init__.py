"""What operators do and see: policy in force, providers and pins, session reports, status."""
