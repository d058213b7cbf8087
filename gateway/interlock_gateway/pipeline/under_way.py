"""Which call the running task is busy with, for log lines: each says about which call it is (OBS-2)."""

from contextvars import ContextVar

from interlock_gateway.pipeline.run import CallRun

_RUN: ContextVar[CallRun | None] = ContextVar("interlock_call", default=None)


def take_up(run: CallRun) -> None:
    """From here on the running task, and what it starts, is busy with `run`."""
    _RUN.set(run)


def put_down() -> None:
    """From here on the running task is busy with no call: it goes on with others, or with none."""
    _RUN.set(None)


def call_under_way() -> CallRun | None:
    """The call, until it has its answer; `None` outside of calls."""
    run = _RUN.get()
    return None if run is None or run.over else run
