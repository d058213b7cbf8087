"""Runs small policies in processes that are killed when they hang, and replaced when they end."""

import json
import selectors
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

PROCESS = Path(__file__).with_name("policy_process.py")
LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """What to look at: modules by path, data, and the rule to evaluate for each of `inputs` (JSON texts).

    `query` is asked where there is no such rule; `input_term` is an input in Rego, in place of the inputs.
    With `refused_too` also what the checks refuse is evaluated; `checked_too` are modules that are only checked.
    """

    modules: dict[str, str]
    rule: str
    inputs: tuple[str | None, ...] = (None,)
    data: dict[str, Any] = field(default_factory=dict)
    query: str = ""
    input_term: str | None = None
    refused_too: bool = False
    checked_too: dict[str, str] = field(default_factory=dict)
    evaluate: bool = True


@dataclass(frozen=True, slots=True)
class PolicyOutcome:
    """What came of it. `problems` are (file, line, code, message), `calls` the functions called.

    Each of `outcomes` is {"values": [...]} or {"failed": "error" | "panic" | "hang" | "abort", "words": ...}.
    """

    problems: tuple[tuple[str, int, str, str], ...]
    calls: frozenset[str]
    outcomes: tuple[dict[str, Any], ...]


def run_policies(requests: Iterable[PolicyRequest]) -> Iterator[PolicyOutcome]:
    """The outcome of each request, in order. One that hangs or ends its process costs only itself."""
    process = _Process()
    try:
        for request in requests:
            answered = process.ask(request)
            ended = answered if isinstance(answered, str) else ""
            if isinstance(answered, str):
                process.end()
                process = _Process()
                answered = process.ask(replace(request, evaluate=False))
                assert not isinstance(answered, str), f"the checks themselves end in a {answered}: {request}"
            outcomes = ({"failed": ended, "words": ""},) * len(request.inputs) if ended else answered["outcomes"]
            problems = tuple((file, line, code, message) for file, line, code, message in answered["problems"])
            yield PolicyOutcome(problems, frozenset(answered["calls"]), tuple(outcomes))
    finally:
        process.end()


class _Process:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, PROCESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._ready = selectors.DefaultSelector()
        assert self._process.stdout is not None
        self._ready.register(self._process.stdout, selectors.EVENT_READ)

    def ask(self, request: PolicyRequest) -> dict[str, Any] | str:
        """The answer, or how the process failed to give one."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        fields = {name: getattr(request, name) for name in PolicyRequest.__slots__}
        self._process.stdin.write(json.dumps(fields).encode() + b"\n")
        self._process.stdin.flush()
        if not self._ready.select(LIMIT_S):
            return "hang"
        line = self._process.stdout.readline()
        answered: dict[str, Any] | str = json.loads(line) if line else "abort"
        return answered

    def end(self) -> None:
        """Kill the process, and leave nothing open."""
        self._process.kill()
        self._ready.close()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait()
