"""Imports the MCP SDK, in one thread at a time.

Its packages import each other in circles. Of two threads that begin at different ends of one, Python lets one go on
with half of a module, which fails; and a server may be connected in the moment in which the first client comes.
"""

import importlib
import threading

_ONE = threading.Lock()


def load(*modules: str) -> None:
    """Import `modules`, one after the other. Takes most of a second the first time: not for the event loop."""
    with _ONE:
        for module in modules:
            importlib.import_module(module)
