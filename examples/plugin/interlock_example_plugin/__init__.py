"""Two plug-ins for an Interlock gateway: `ticket` stops changes that name none, `diary` writes down what happens."""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from interlock.extensions import Call, Cancel, Continue, ContinueWith, Event, Hook, Interceptor, Outcome


class TicketRequired(Interceptor):
    """Stops a call that may change something unless its label `ticket` is a ticket; reading needs none.

    Settings: `pattern`, a regular expression that the whole label matches.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._pattern = re.compile(settings.get("pattern", r"[A-Z]+-\d+"))

    async def before_call(self, call: Call) -> Outcome:
        """Look at the label of whatever may change something."""
        if call.effect == "read_only":
            return Continue()
        ticket = call.labels.get("ticket", "")
        if not self._pattern.fullmatch(ticket):
            return Cancel(f"{call.tool} may change something: name the ticket it is for in the label `ticket`")
        return ContinueWith([f"Mention {ticket} when you say what you did."])


class Diary(Hook):
    """Appends every event to a file, one JSON object on a line.

    Settings: `path`, the file.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._path = Path(settings["path"])

    async def on_event(self, event: Event) -> None:
        """Write it down, in a thread: a slow disk must not hold up the gateway."""
        line = json.dumps({"event": type(event).__name__, **asdict(event)})
        await asyncio.to_thread(self._append, line)

    def _append(self, line: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
