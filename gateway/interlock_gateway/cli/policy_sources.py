"""Which policies a command looks at: those of the configuration, or others named on the command line."""

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError
from interlock_gateway.config import Config
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.loader import load_bundle

Overlays = Annotated[
    list[Path] | None,
    typer.Option("--overlay", help="A directory of your own rules and settings, in place of the configured ones."),
]
AuditDirectory = Annotated[
    Path | None, typer.Option("--audit-dir", help="Where the receipts are; without it where the configuration says.")
]


class EngineChoice(StrEnum):
    """Which engines a command asks."""

    EMBEDDED = "embedded"
    OPA = "opa"


Engine = Annotated[
    EngineChoice,
    typer.Option(help="`opa`: ask the program opa too, found on PATH or at .tools/bin, and say where it differs."),
]
# What a directory has that holds a whole set of policies and not an overlay.
_ROOT = "main.rego"


def chosen_overlays(given: list[Path] | None, config: Config) -> tuple[Path, ...]:
    """The overlays that were named, else the configured ones."""
    return tuple(given) if given else config.policy.overlays


def configured_bundle(config: Config, overlays: list[Path] | None = None) -> PolicyBundle:
    """The policies of the configuration, or with other overlays; of a bundle, the last good one that was kept here.

    Raises `CommandError` when there is none, and what loading them raises.
    """
    kept = kept_bundle(config) if not overlays else None
    if kept is not None:
        return kept
    return load_bundle(profile=config.policy.profile, overlays=chosen_overlays(overlays, config))


def candidate_bundle(config: Config, against: Path | None, overlays: list[Path] | None, profile: str) -> PolicyBundle:
    """Policies to try: `against` is a bundle's file, a whole set of policies, or an overlay for the configured ones."""
    chosen = chosen_overlays(overlays, config)
    profile = profile or config.policy.profile
    if against is None:
        return load_bundle(profile=profile, overlays=chosen)
    if against.is_file():
        return _opened(against, config, overlays, profile)
    if not against.is_dir():
        raise CommandError(f"{against} is neither a directory of policies nor a bundle", ExitCode.USAGE)
    if (against / _ROOT).is_file():
        return load_bundle(profile=profile, overlays=chosen, directory=against)
    return load_bundle(profile=profile, overlays=(*(overlays or ()), against))


def kept_bundle(config: Config) -> PolicyBundle | None:
    """The policies of the configured bundle, as they were kept last; `None` when none is configured."""
    if config.policy.bundle is None:
        return None
    from interlock_gateway.operate.policy_start import open_policies  # noqa: PLC0415 -- slow to load, rarely needed

    kept = asyncio.run(open_policies(config.policy, config.policy_dir).load_kept())
    if kept is None:
        words = "no gateway has loaded the configured bundle here yet; name policies with --overlay"
        raise CommandError(words, ExitCode.USAGE)
    return kept


def _opened(file: Path, config: Config, overlays: list[Path] | None, profile: str) -> PolicyBundle:
    # Loading bundles brings a good deal with it that few commands need.
    from interlock_gateway.policy.bundles.archive import read_archive  # noqa: PLC0415 -- see above
    from interlock_gateway.policy.bundles.building import packed  # noqa: PLC0415 -- see above
    from interlock_gateway.policy.bundles.keys import verification_key  # noqa: PLC0415 -- see above
    from interlock_gateway.policy.bundles.loading import load_opened  # noqa: PLC0415 -- see above
    from interlock_gateway.policy.bundles.opened import MAX_BYTES, open_bundle  # noqa: PLC0415 -- see above
    from interlock_gateway.policy.bundles.signing import SIGNATURES  # noqa: PLC0415 -- see above

    raw = file.read_bytes()
    configured = config.policy.bundle.keys if config.policy.bundle is not None else ()
    keys = [verification_key(it.file or it.secret_file or Path(), it.algorithm, it.id, it.scope) for it in configured]
    if not keys:
        # Nothing is enforced by a trial, and without a key there is nothing to verify with.
        files = read_archive(raw, MAX_BYTES)
        raw = packed({name: content for name, content in files.items() if name != SIGNATURES})
    return load_opened(open_bundle(raw, keys), profile=profile, overlays=tuple(overlays or ()))
