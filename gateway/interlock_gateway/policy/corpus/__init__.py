"""Sessions of agents, benign and attacked, with what people want to become of each call (POL-4).

A library of rules errs in two ways: it lets harm through, and it bothers people for nothing. A corpus measures both.
"""
