"""Log lines: one JSON object each, about which call they are, and nothing that a call brought (OBS-2)."""

import asyncio
import io
import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from interlock_gateway.telemetry import logs

CANARY = "canary-8231"


class Lines:
    """What was logged."""

    def __init__(self) -> None:
        self.out = io.StringIO()

    @property
    def text(self) -> str:
        return self.out.getvalue()

    def all(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def lines() -> Iterator[Lines]:
    made = Lines()
    handler = logging.StreamHandler(made.out)
    handler.setFormatter(logs.JsonLines())
    ours, libraries = logging.getLogger(logs.OURS), logging.getLogger("some_library")
    for logger in (ours, libraries):
        logger.addHandler(handler)
    yield made
    for logger in (ours, libraries):
        logger.removeHandler(handler)


@pytest.mark.req("OBS-2")
def test_an_exception_is_told_by_its_kind_and_its_place_and_never_by_its_message(lines: Lines) -> None:
    def inner() -> None:
        raise ValueError(f"invalid: {CANARY}")

    try:
        try:
            inner()
        except ValueError as error:
            raise KeyError(CANARY) from error
    except KeyError:
        logging.getLogger("interlock_gateway.somewhere").exception("it failed", extra={"decision_id": "d-1"})

    (line,) = lines.all()
    assert CANARY not in lines.text
    assert (line["message"], line["level"], line["decision_id"]) == ("it failed", "error", "d-1")
    assert [told["kind"] for told in line["exception"]] == ["builtins.KeyError", "builtins.ValueError"]
    assert line["exception"][1]["at"][-1].endswith(" inner")


@pytest.mark.req("OBS-2")
def test_texts_are_bounded_and_without_their_secrets(lines: Lines) -> None:
    token = "ghp_" + "a1B2" * 9
    logger = logging.getLogger("some_library")
    logger.warning("it says %s", token, extra={"problem": f"refused: {token}", "counts": {"a": 1}, "long": "x" * 9000})
    (line,) = lines.all()
    assert token not in lines.text
    assert line["counts"] == {"a": 1}
    assert len(line["long"]) == logs.MAX_TEXT


@pytest.mark.req("OBS-2")
async def test_what_nobody_caught_on_the_loop_is_a_line_without_its_message(lines: Lines) -> None:
    loop = asyncio.get_running_loop()
    logs.log_uncaught_of(loop)
    try:
        loop.call_exception_handler({"message": CANARY, "exception": ValueError(CANARY)})
    finally:
        loop.set_exception_handler(None)
    (line,) = lines.all()
    assert CANARY not in lines.text
    assert line["exception"][0]["kind"] == "builtins.ValueError"


@pytest.mark.req("OBS-2")
def test_what_nobody_caught_in_a_thread_is_a_line_without_its_message(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", logs.log_of_thread)

    def fail() -> None:
        raise ValueError(CANARY)

    thread = threading.Thread(target=fail, name="worker")
    thread.start()
    thread.join()
    (line,) = lines.all()
    assert CANARY not in lines.text
    assert line["where"] == "worker"
