"""`interlock policy bundle`: builds, signs, verifies and describes bundles in OPA's format (LIFE-4)."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError
from interlock_gateway.cli.options import ConfigFile, Output, examples, group
from interlock_gateway.cli.policy_failures import judging
from interlock_gateway.cli.screen import Fields, OutputFormat, Screen, Table
from interlock_gateway.config_bundles import BundleAlgorithm
from interlock_gateway.config_loader import load_config
from interlock_gateway.policy.loader import load_bundle

if TYPE_CHECKING:
    from interlock_gateway.policy.bundles.opened import OpenedBundle

EPOCH_VARIABLE = "SOURCE_DATE_EPOCH"
_LARGEST = 1 << 30
app = group(
    "Build, sign, verify and look at bundles of policies.",
    examples("interlock policy bundle build house --out policy.tar.gz"),
)

BundleFile = Annotated[Path, typer.Argument(metavar="BUNDLE", help="The bundle's file.")]
KeyId = Annotated[str, typer.Option("--key-id", help="The key's id, as `policy.bundle.keys` has it.")]
Algorithm = Annotated[
    str, typer.Option(help="The signature's algorithm: RS256, ES256 and so on, or HS256 with a secret for a key.")
]
Scope = Annotated[str, typer.Option(help="What the signature is good for, such as `production`.")]


@app.command(
    epilog=examples(
        "interlock policy bundle build --config interlock.yaml --out policy.tar.gz",
        "interlock policy bundle build house --alone --out house.tar.gz",
    )
)
@judging
def build(
    overlays: Annotated[
        list[Path] | None, typer.Argument(metavar="DIRECTORY", help="Overlays, in place of the configured ones.")
    ] = None,
    *,
    out: Annotated[Path, typer.Option(help="The file to write.")],
    alone: Annotated[
        bool, typer.Option("--alone", help="Pack one overlay by itself, to go on top of what a gateway ships.")
    ] = False,
    profile: Annotated[str, typer.Option(help="The profile, in place of the configured one.")] = "",
    sequence: Annotated[
        int | None, typer.Option(min=0, help="Where it stands among the bundles of its source; the time, unless said.")
    ] = None,
    config: ConfigFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Build a bundle: the whole policy with its profile and overlays, or one overlay alone. It is not signed.

    The same policies and the same sequence give the same bytes. A gateway takes no bundle with a lower sequence than it
    has accepted before; without `--sequence` it is SOURCE_DATE_EPOCH, else the time in seconds.
    """
    from interlock_gateway.policy.bundles import building  # noqa: PLC0415 -- only these commands take what it loads

    settings = load_config(config, os.environ)
    chosen = tuple(overlays) if overlays else settings.policy.overlays
    named = profile or settings.policy.profile
    place = _now() if sequence is None else sequence
    bundle = load_bundle(profile=named, overlays=chosen)
    if alone and len(chosen) != 1:
        raise CommandError("--alone packs one overlay: name its directory", ExitCode.USAGE)
    files = (
        building.overlay_files(chosen[0], sequence=place) if alone else building.policy_files(bundle, sequence=place)
    )
    _written(out, building.packed(files))
    shown = {"file": str(out), "revision": bundle.revision, "sequence": place, "files": len(files)}
    Screen(output).show(shown, Fields(list(shown.items())))


@app.command(epilog=examples("interlock policy bundle sign policy.tar.gz --key release.pem --key-id release"))
@judging
def sign(
    bundle: BundleFile,
    *,
    key: Annotated[Path, typer.Option(help="The private key in PEM, or the secret.")],
    key_id: KeyId = "default",
    algorithm: Algorithm = "RS256",
    scope: Scope = "",
    out: Annotated[Path | None, typer.Option(help="The file to write; without it, the bundle's own.")] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Sign a bundle as OPA does; a signature that it had is replaced."""
    from interlock_gateway.policy.bundles.building import signed  # noqa: PLC0415 -- see build
    from interlock_gateway.policy.bundles.keys import signing_key  # noqa: PLC0415 -- see build

    with _named(bundle):
        made = signed(
            bundle.read_bytes(),
            signing_key(key, _known(algorithm), key_id, scope),
            issued_at=_now(),
            max_bytes=_LARGEST,
        )
    target = out or bundle
    _written(target, made)
    shown = {"file": str(target), "key_id": key_id, "algorithm": algorithm, "scope": scope}
    Screen(output).show(shown, Fields(list(shown.items())))


@app.command(epilog=examples("interlock policy bundle verify policy.tar.gz --key release.pub --key-id release"))
@judging
def verify(
    bundle: BundleFile,
    *,
    key: Annotated[Path, typer.Option(help="The public key in PEM, or the secret.")],
    key_id: KeyId = "default",
    algorithm: Algorithm = "RS256",
    scope: Scope = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Verify a bundle as a gateway with this key would. The exit code is 1 when it is refused."""
    from interlock_gateway.policy.bundles.keys import verification_key  # noqa: PLC0415 -- see build
    from interlock_gateway.policy.bundles.opened import open_bundle  # noqa: PLC0415 -- see build

    keys = (verification_key(key, _known(algorithm), key_id, scope),)
    with _named(bundle):
        opened = open_bundle(bundle.read_bytes(), keys, max_bytes=_LARGEST)
    Screen(output).show({"ok": True, **_described(opened)}, Fields([("verified", True), *_described(opened).items()]))


@app.command(epilog=examples("interlock policy bundle inspect policy.tar.gz"))
@judging
def inspect(bundle: BundleFile, *, output: Output = OutputFormat.TABLE) -> None:
    """Show what a bundle holds, without verifying it."""
    from interlock_gateway.policy.bundles.archive import read_archive  # noqa: PLC0415 -- see build
    from interlock_gateway.policy.bundles.building import packed  # noqa: PLC0415 -- see build
    from interlock_gateway.policy.bundles.opened import open_bundle  # noqa: PLC0415 -- see build
    from interlock_gateway.policy.bundles.signing import SIGNATURES, signature_claims  # noqa: PLC0415 -- see build

    with _named(bundle):
        files = read_archive(bundle.read_bytes(), _LARGEST)
        signature = signature_claims(files)
        bare = packed({name: content for name, content in files.items() if name != SIGNATURES})
        described = _described(open_bundle(bare, max_bytes=_LARGEST)) | {"signed": signature is not None}
    if signature is not None:
        described |= signature
    rows = [(name, len(content)) for name, content in files.items()]
    shown = {**described, "contents": [{"file": name, "bytes": size} for name, size in rows]}
    Screen(output).show(shown, Fields(list(described.items())), Table(("file", "bytes"), rows))


@contextmanager
def _named(bundle: Path) -> Iterator[None]:
    """Name the bundle by its file where it is all of it that is wrong, and no file in it."""
    from interlock_gateway.policy.bundles.errors import ANY_BUNDLE, BundleError  # noqa: PLC0415 -- see build

    try:
        yield
    except BundleError as error:
        if error.place != ANY_BUNDLE:
            raise
        raise BundleError(error.fault, error.problem, str(bundle)) from error


def _described(opened: "OpenedBundle") -> dict[str, Any]:
    return {
        "kind": opened.kind.value,
        "revision": opened.manifest.revision,
        "sequence": opened.sequence,
        "roots": list(opened.manifest.roots),
        "rules": len(opened.modules),
    }


def _known(algorithm: str) -> str:
    if algorithm not in get_args(BundleAlgorithm):
        raise CommandError(f"--algorithm is one of {', '.join(get_args(BundleAlgorithm))}", ExitCode.USAGE)
    return algorithm


def _now() -> int:
    given = os.environ.get(EPOCH_VARIABLE, "")
    if given and not given.isdecimal():
        raise CommandError(f"{EPOCH_VARIABLE} is no number of seconds: {json.dumps(given)}", ExitCode.USAGE)
    return int(given) if given else int(time.time())


def _written(file: Path, content: bytes) -> None:
    """Replace a file as a whole: a gateway may be looking at it."""
    new = file.with_name(f".{file.name}.new")
    new.write_bytes(content)
    new.replace(file)
