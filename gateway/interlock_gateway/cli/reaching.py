"""Reaching the gateway: as an agent, an operator or an approver."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from interlock import SyncGateway
from interlock.admin import SyncAdmin, SyncApprovals
from interlock.tls import ClientTls

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError
from interlock_gateway.cli.tls_options import given_tls
from interlock_gateway.config import Config
from interlock_gateway.config_loader import load_config

CONFIG_VARIABLE = "INTERLOCK_CONFIG"
DEFAULT_TIMEOUT_S = 60.0


@contextmanager
def agent_gateway(address: str, timeout: float = DEFAULT_TIMEOUT_S) -> Iterator[SyncGateway]:
    """The gateway as agents reach it. Raises `CommandError` when nothing listens on its socket."""
    with _gateway(address or _agent_address(configured()), timeout) as gateway:
        yield gateway


@contextmanager
def operator(address: str, timeout: float = DEFAULT_TIMEOUT_S) -> Iterator[SyncAdmin]:
    """The gateway as operators reach it. Raises `CommandError` when nothing listens on its socket."""
    with _gateway(address or _operator_address(configured()), timeout) as gateway:
        yield SyncAdmin(gateway)


@contextmanager
def approver(address: str, timeout: float = DEFAULT_TIMEOUT_S) -> Iterator[SyncApprovals]:
    """The gateway as approvers reach it, by default where operators do. Raises `CommandError` like `operator`."""
    with _gateway(address or _operator_address(configured()), timeout) as gateway:
        yield SyncApprovals(gateway)


@contextmanager
def _gateway(address: str, timeout: float) -> Iterator[SyncGateway]:
    local = address.startswith("unix:")
    if local:
        _look_for(address)
    try:
        given = given_tls()
        tls = ClientTls(**given) if given and not local else None
        gateway = SyncGateway(address, timeout=timeout, tls=tls)
        gateway.connection.secure()
    except ValueError as error:
        raise CommandError(str(error), ExitCode.USAGE) from None
    with gateway:
        yield gateway


def _look_for(address: str) -> None:
    """Raise `CommandError` when nobody answers on a Unix socket: gRPC would take longer and say it in more words."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(address.removeprefix("unix:").removeprefix("//"))
        except (FileNotFoundError, ConnectionRefusedError):
            message = f"no gateway listens on {address}; start one with `interlock serve`"
            raise CommandError(message, ExitCode.UNREACHABLE) from None
        except OSError as error:
            raise CommandError(f"{address} cannot be opened: {error.strerror or error}", ExitCode.UNREACHABLE) from None


def configured() -> Config:
    """The configuration that the environment names, for commands that take none themselves."""
    file = os.environ.get(CONFIG_VARIABLE)
    return load_config(Path(file) if file else None, os.environ)


def _agent_address(config: Config) -> str:
    """The first Unix socket, which needs no token; else the first address."""
    addresses = sorted(config.server.listen, key=lambda address: not address.startswith("unix:"))
    address = config.at_state(addresses[0])
    if address.endswith(":0"):
        raise CommandError("the gateway listens on a port of its own choice; say which with --address", ExitCode.USAGE)
    return address


def _operator_address(config: Config) -> str:
    if not config.server.operator_listen:
        raise CommandError("server.operator_listen is empty: the gateway has no operators", ExitCode.USAGE)
    return config.at_state(config.server.operator_listen[0])
