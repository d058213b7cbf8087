"""The operations of another host, over SSH: the same local operations, at the other end of a connection (BOX-1).

`ssh` connects, `shipping` brings the modules there, `far_end` and `far_calls` are what runs there, `frames` is what
both ends say to each other, `link` and `reaching` are this end, and `near` makes `Operations` of it, checked by
`answers`. `interlock.toolbox.working` chooses between this machine and another.
Nothing that runs there may import more than the standard library and what `shipping` names.
"""
