"""Where a URL leads, read as browsers read it (WHATWG URL), and where other readers would be led instead (PIPE-5)."""
