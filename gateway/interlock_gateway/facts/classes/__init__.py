"""One module for each permission class with an extractor, which it names `EXTRACTOR`. Adding one is adding a module."""
