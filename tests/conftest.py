"""
What all tests share: programs that may be missing, places for Unix sockets, and an account of what was skipped.

With ``INTERLOCK_TESTS_NO_SKIP=1`` in the environment a skip is a failure: continuous integration has everything that a
test may ask for, and must not pass by leaving tests out.
"""

import gc
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest
from azure_server import AzureServer, running_azure
from clouds import CLOUDS, Cloud, cloud_of
from gcs_server import GcsServer, running_gcs
from interlock_gateway.telemetry.logs import JsonLines
from postgres_server import NoPostgresError, PostgresServer, running_postgres
from s3_server import S3Server, running_s3

ROOT = Path(__file__).resolve().parent.parent
NO_SKIP_VARIABLE = "INTERLOCK_TESTS_NO_SKIP"
HOW_TO_GET = {
    "dex": "run `make tools`, which takes Go",
    "fake-gcs-server": "run `make tools`, which takes Go",
    "go": "install Go",
    "helm": "run `make tools`, which takes Go",
    "kube-score": "run `make tools`, which takes Go",
    "node": "install Node.js 22 or newer",
    "opa": "run `make tools`, which takes Go",
    "prometheus": "run `make tools`, or install Prometheus",
    "promtool": "run `make tools`, or install Prometheus",
    "rg": "run `make tools`, or install ripgrep",
    "versitygw": "run `make tools`, which takes Go",
}


class FindProgram(Protocol):
    """Return the path of a program; skip the test, saying how to get it, when this machine has none."""

    def __call__(self, name: str) -> Path: ...


def pytest_configure() -> None:
    """Let every test, and what it starts, find the programs that ``make tools`` put into ``.tools/bin``."""
    own_programs = str(ROOT / ".tools" / "bin")
    if own_programs not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([own_programs, os.environ["PATH"]])
    # A shell starts what runs in the background with SIGINT ignored, and so would be all that the tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Have the garbage collector leave ten thousand tests alone, which it would look through again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def program() -> FindProgram:
    """Find programs that are no part of the Python environment: ``program("opa")``."""

    def find(name: str) -> Path:
        if found := shutil.which(name):
            return Path(found)
        pytest.skip(f"{name} is missing ({HOW_TO_GET.get(name, f'install {name}')})")

    return find


@pytest.fixture
def socket_directory() -> Iterator[Path]:
    """
    Give an empty directory whose path is short enough for Unix sockets in it, and remove it afterwards.

    A socket's path holds at most 107 bytes, which pytest's own temporary paths exceed.
    """
    with tempfile.TemporaryDirectory(prefix="il-", dir="/tmp", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Give one PostgreSQL server for all tests; skip, saying why, where none can be had."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(running_postgres())
        except NoPostgresError as error:
            pytest.skip(str(error))
        yield server


@pytest.fixture(scope="session")
def s3(program: FindProgram) -> Iterator[S3Server]:
    """Give one S3-compatible server for all tests."""
    with running_s3(program("versitygw")) as server:
        yield server


@pytest.fixture(scope="session")
def gcs(program: FindProgram) -> Iterator[GcsServer]:
    """Give one server of Google's storage protocol for all tests."""
    with running_gcs(program("fake-gcs-server")) as server:
        yield server


@pytest.fixture(scope="session")
def azure() -> Iterator[AzureServer]:
    """Give one server of Azure's blob protocol for all tests."""
    with running_azure() as server:
        yield server


@pytest.fixture(params=CLOUDS)
def cloud(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    """Give a place in an empty bucket of each kind of store, with credentials for it in the environment."""
    made = cloud_of(request.param, request)
    made.use(monkeypatch)
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Leave nothing of what a command set up that ran in this process: levels, handlers and hooks of its log."""
    everyone, ours = logging.getLogger(), logging.getLogger("interlock_gateway")
    levels, hooks = (everyone.level, ours.level), (sys.unraisablehook, threading.excepthook)
    done = yield
    everyone.setLevel(levels[0])
    ours.setLevel(levels[1])
    everyone.handlers = [one for one in everyone.handlers if not isinstance(one.formatter, JsonLines)]
    sys.unraisablehook, threading.excepthook = hooks
    logging.captureWarnings(capture=False)
    return done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one where nothing may be skipped."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and nothing_may_be_skipped():
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and {NO_SKIP_VARIABLE} is set: {reason_of(report.longrepr)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a skipped module into a failed one where nothing may be skipped."""
    report = yield
    if report.skipped and nothing_may_be_skipped():
        report.outcome = "failed"
        report.longrepr = f"skipped, and {NO_SKIP_VARIABLE} is set: {reason_of(report.longrepr)}"
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say at the end what was not tested on this machine, by reason."""
    skipped: dict[str, list[str]] = defaultdict(list)
    for report in terminalreporter.stats.get("skipped", ()):
        skipped[reason_of(report.longrepr)].append(report.nodeid)
    if not skipped:
        return
    terminalreporter.section("not tested on this machine")
    for reason, tests in sorted(skipped.items()):
        areas = sorted({test.split("::")[0] for test in tests})
        terminalreporter.write_line(f"{reason}: {len(tests)} in {', '.join(areas)}")


def nothing_may_be_skipped() -> bool:
    """Tell whether the environment asks that a skip fails the run."""
    return os.environ.get(NO_SKIP_VARIABLE, "") not in {"", "0"}


def reason_of(outcome: Any) -> str:
    """Return why something was skipped, from what pytest keeps of a skip: place, line and reason."""
    reason = outcome[2] if isinstance(outcome, tuple) else str(outcome)
    return reason.removeprefix("Skipped: ")
