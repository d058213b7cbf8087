"""Generated stubs of the Interlock contract; written by ``proto/generate.py``."""
