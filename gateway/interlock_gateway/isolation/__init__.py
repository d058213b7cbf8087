"""Processes of our own in which other people's input is worked on: what they can reach, and who goes before them."""
