"""Structured logs: one JSON line per event, never an argument or a result (OBS-2).

Every line goes through here, those of libraries too. What is said of an exception is its kind and where it was raised:
its message may hold what a call brought.
"""

import asyncio
import json
import logging
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import PurePath
from types import TracebackType
from typing import Any

from interlock_gateway.pipeline.under_way import call_under_way
from interlock_gateway.results.redaction import Redactor

MAX_TEXT = 2000
"""The most of one text in a line, in characters."""
MAX_FRAMES = 30
MAX_CAUSES = 5
OURS = "interlock_gateway"
_OWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_log = logging.getLogger(__name__)


class JsonLines(logging.Formatter):
    """A record as one JSON object: time, level, logger, message, the event's own fields, and which call it is about.

    Texts are bounded, and without their secrets.
    """

    def __init__(self, mask: Callable[[str], str] | None = None) -> None:
        super().__init__()
        self._mask = mask or _masking()

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._shown(record.getMessage()),
        }
        line |= {key: self._shown(value) for key, value in record.__dict__.items() if key not in _OWN}
        for key, text in about_the_call().items():
            line.setdefault(key, text)
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = told(record.exc_info[1])
        return json.dumps(line, default=str)

    def _shown(self, value: object) -> object:
        if isinstance(value, str):
            return self._mask(value[:MAX_TEXT])
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, dict):
            return {str(key): self._shown(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._shown(one) for one in value]
        return self._mask(str(value)[:MAX_TEXT])


def about_the_call() -> dict[str, str]:
    """Which call the running task is busy with: its decision, its session and its trace. Empty outside of calls."""
    run = call_under_way()
    if run is None:
        return {}
    about = {"decision_id": run.decision_id, "session_id": run.session_id, "call_id": run.call_id}
    if (context := run.trace.context) is not None:
        about["trace_id"] = context.trace_id
    return about


def told(error: BaseException) -> list[dict[str, object]]:
    """An exception and what it came from, the newest first: each one's kind, and where it was raised."""
    found: list[dict[str, object]] = []
    seen: BaseException | None = error
    while seen is not None and len(found) < MAX_CAUSES:
        kind = type(seen)
        found.append({"kind": f"{kind.__module__}.{kind.__qualname__}", "at": _places(seen.__traceback__)})
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return found


def _places(trace: TracebackType | None) -> list[str]:
    frames = traceback.extract_tb(trace)[-MAX_FRAMES:]
    return [f"{'/'.join(PurePath(one.filename).parts[-3:])}:{one.lineno} {one.name}" for one in frames]


def _masking() -> Callable[[str], str]:
    redactor = Redactor()
    return lambda text: redactor.redact_text(text).text


def log_to_stderr(level: str = "INFO") -> None:
    """Write every log line to standard error as JSON: the gateway's from `level` on, those of libraries from WARNING.

    What threads, and Python itself, have to say of an exception that nobody caught becomes a line like any other.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    everyone = logging.getLogger()
    everyone.handlers = [handler]
    everyone.setLevel(logging.WARNING)
    logging.getLogger(OURS).setLevel(level.upper())
    logging.captureWarnings(capture=True)
    threading.excepthook = log_of_thread
    sys.unraisablehook = _unraisable


def log_uncaught_of(loop: asyncio.AbstractEventLoop) -> None:
    """Have what nobody caught on the loop logged like this, too: its own words hold messages of exceptions."""
    loop.set_exception_handler(_of_loop)


def _of_loop(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    task = context.get("task") or context.get("future")
    name = task.get_name() if isinstance(task, asyncio.Task) else ""
    _log.error("nobody caught an exception of a task", extra={"where": name}, exc_info=context.get("exception"))


def log_of_thread(given: threading.ExceptHookArgs) -> None:
    """Log what a thread did not catch; a `threading.excepthook`."""
    if given.exc_type is SystemExit:
        return
    name = given.thread.name if given.thread is not None else ""
    _log.error("nobody caught an exception of a thread", extra={"where": name}, exc_info=given.exc_value)


def _unraisable(given: "sys.UnraisableHookArgs") -> None:
    _log.error("an exception could not be raised", exc_info=given.exc_value)
