"""What a shell script would run, as data. Reads bash as bash does; what it does not understand, it says (PIPE-5)."""
