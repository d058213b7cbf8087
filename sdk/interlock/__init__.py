"""The Python SDK of the Interlock safety gateway."""
