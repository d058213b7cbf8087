"""`interlock toolbox`."""

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from interlock.provider import ToolServer
from interlock.tls import ServerTls
from interlock.toolbox import toolbox_provider
from interlock.toolbox.errors import OperationError
from interlock.toolbox.server import DRAIN_S, KEEP_DAYS
from interlock.toolbox.working import Workplace, working

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError
from interlock_gateway.cli.options import examples, group
from interlock_gateway.cli.reaching import configured

app = group("Serve the tools that ship with Interlock.", "")
TOOLBOX_ADDRESS = "unix:{state}/toolbox.sock"
_DAY_S = 86_400.0


@app.command(
    epilog=examples(
        "interlock toolbox --root .",
        "interlock toolbox --root /srv/app --root /srv/data --listen unix:/run/interlock/toolbox.sock",
        "interlock toolbox --root . --listen 0.0.0.0:7090 --cert-file tools.crt --key-file tools.key "
        "--client-ca-file ca.pem --client spiffe://example.org/ns/prod/sa/gateway",
        "interlock toolbox --ssh deploy@build.example:2222 --root /srv/app",
    )
)
def toolbox(
    *,
    root: Annotated[
        list[Path], typer.Option(help="A directory that the tools may work in. Can be given several times.")
    ],
    listen: Annotated[
        str, typer.Option(help="`unix:PATH` or `HOST:PORT`; `{state}` is the gateway's state directory.")
    ] = TOOLBOX_ADDRESS,
    state: Annotated[
        Path | None, typer.Option(help="Where undo and trash are kept, outside the roots; not the gateway's own.")
    ] = None,
    ssh: Annotated[
        str,
        typer.Option(
            help="The host whose directories these are, reached over SSH; `--root` and `--state` are paths there.",
            metavar="[USER@]HOST[:PORT]",
        ),
    ] = "",
    ssh_config: Annotated[
        Path | None,
        typer.Option(help="A configuration of SSH in place of `~/.ssh/config`.", metavar="FILE"),
    ] = None,
    token: Annotated[
        str,
        typer.Option(
            envvar="INTERLOCK_TOOLBOX_TOKEN", show_envvar=True, help="A token that the gateway has to present."
        ),
    ] = "",
    cert_file: Annotated[
        Path | None, typer.Option(help="The certificate, in PEM, that encrypts `HOST:PORT`.", metavar="FILE")
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="The key of that certificate, unless the same file holds it.", metavar="FILE")
    ] = None,
    client_ca_file: Annotated[
        Path | None,
        typer.Option(help="The authorities, in PEM, one of which has to vouch for whoever calls.", metavar="FILE"),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option(help="The gateway's SPIFFE ID, or subject (`CN=gateway`); nobody else may call. Several too."),
    ] = None,
    keep_env: Annotated[
        list[str] | None, typer.Option(help="A variable that commands get too. Can be given several times.")
    ] = None,
    keep_days: Annotated[float, typer.Option(min=0.0, help="How long changes can be undone, in days.")] = KEEP_DAYS,
    drain_s: Annotated[
        float, typer.Option(min=0.0, help="How long calls that run may take to end after SIGTERM, in seconds.")
    ] = DRAIN_S,
    health_listen: Annotated[
        str, typer.Option(help="Where gRPC health is answered in plain text, and nothing else.", metavar="HOST:PORT")
    ] = "",
) -> None:
    """Serve read, write, edit, delete, bash, glob, grep and list inside the given directories, until Ctrl-C.

    It is a process of its own: the gateway reaches it as a provider and never touches files itself.
    """
    address = configured().at_state(listen)
    _make_room(address)
    place = Workplace(root, state, keep_env or (), ssh, ssh_config)
    try:
        tls = _tls(cert_file, key_file, client_ca_file, client or ())
        with working(place) as operations:
            operations.vault.sweep(keep_days * _DAY_S)
            server = ToolServer(
                toolbox_provider(operations),
                address,
                token=token or None,
                tls=tls,
                drain_s=drain_s,
                health_address=health_listen,
            )
            asyncio.run(_serve(server, place.words))
    except OperationError as error:
        raise CommandError(str(error), ExitCode.UNREACHABLE) from None
    except (OSError, ValueError, ModuleNotFoundError) as error:
        raise CommandError(str(error), ExitCode.USAGE) from None


def _tls(
    cert_file: Path | None, key_file: Path | None, client_ca_file: Path | None, clients: Sequence[str]
) -> ServerTls | None:
    """How connections are encrypted. Raises `ValueError` for a part that is of no use without a certificate."""
    if cert_file is not None:
        return ServerTls(cert_file, key_file, client_ca_file=client_ca_file, clients=clients)
    if key_file is not None or client_ca_file is not None or clients:
        raise ValueError("there is no --cert-file, without which nothing is encrypted and nobody is asked who they are")
    return None


async def _serve(server: ToolServer, where: str) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with server:
        typer.echo(f"toolbox is ready: {server.address}; tools work in {where}")
        await stopped.wait()


def _make_room(address: str) -> None:
    if address.startswith("unix:"):
        Path(address.removeprefix("unix:")).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
