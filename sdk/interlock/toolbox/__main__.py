"""`python -m interlock.toolbox --root DIR --listen unix:/path`: serve the toolbox."""

import argparse
import os
import sys
from pathlib import Path

from interlock.tls import ServerTls
from interlock.toolbox.errors import OperationError
from interlock.toolbox.local import default_state_dir
from interlock.toolbox.server import DRAIN_S, KEEP_DAYS, serve_toolbox
from interlock.toolbox.working import Workplace

TOKEN_VARIABLE = "INTERLOCK_TOOLBOX_TOKEN"  # noqa: S105 -- the variable's name


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m interlock.toolbox",
        description="Serve the tools that ship with Interlock: read, write, edit, delete, bash, glob, grep, list.",
        epilog=f"A bearer token that callers have to send is taken from {TOKEN_VARIABLE}.",
    )
    made.add_argument("--root", type=Path, action="append", required=True, help="a directory to serve; may be repeated")
    made.add_argument("--listen", help="unix:/path or host:port; a socket in the state directory when left out")
    made.add_argument("--cert-file", type=Path, help="the certificate, in PEM, that encrypts host:port")
    made.add_argument("--key-file", type=Path, help="the key of that certificate, unless the same file holds it")
    made.add_argument("--client-ca-file", type=Path, help="the authorities that vouch for callers")
    made.add_argument("--client", action="append", default=[], help="the SPIFFE ID or subject of who may call")
    made.add_argument("--state-dir", type=Path, help="where undo keeps what it needs, outside the roots")
    made.add_argument("--ssh", default="", help="[user@]host[:port] whose directories these are, reached over SSH")
    made.add_argument("--ssh-config", type=Path, help="a configuration of SSH in place of ~/.ssh/config")
    made.add_argument("--keep-env", action="append", default=[], help="a variable that commands get too")
    made.add_argument("--keep-days", type=float, default=KEEP_DAYS, help="how long changes can be undone")
    made.add_argument("--drain-s", type=float, default=DRAIN_S, help="how long calls may take to end after SIGTERM")
    made.add_argument("--health-listen", default="", help="host:port of gRPC health, in plain text and nothing else")
    return made


def tls_of(asked: argparse.Namespace) -> ServerTls | None:
    """How connections are encrypted; ValueError for what is of no use without a certificate."""
    if asked.cert_file is not None:
        return ServerTls(
            asked.cert_file, asked.key_file, client_ca_file=asked.client_ca_file, clients=tuple(asked.client)
        )
    if asked.key_file or asked.client_ca_file or asked.client:
        raise ValueError("there is no --cert-file, without which nothing is encrypted")
    return None


def main(arguments: list[str] | None = None) -> int:
    """Serve; 0 after a signal, 2 when it cannot be done as asked, 3 when what it needs is not reached."""
    asked = parser().parse_args(arguments)
    place = Workplace(asked.root, asked.state_dir, asked.keep_env, asked.ssh, asked.ssh_config)
    local_state = (None if asked.ssh else asked.state_dir) or default_state_dir(os.environ)
    try:
        serve_toolbox(
            place,
            asked.listen or f"unix:{local_state / 'toolbox.sock'}",
            os.environ.get(TOKEN_VARIABLE) or None,
            keep_days=asked.keep_days,
            tls=tls_of(asked),
            drain_s=asked.drain_s,
            health_address=asked.health_listen,
        )
    except (ValueError, OSError, ModuleNotFoundError, OperationError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 -- it is a command
        return 3 if isinstance(error, OperationError) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
