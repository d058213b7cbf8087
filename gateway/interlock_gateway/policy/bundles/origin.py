"""Policies from a bundle: fetched, verified, never older than what was accepted, kept on disk when they are good."""

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from interlock_gateway.config_bundles import BundleConfig
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.bundles.errors import BundleError, BundleFault
from interlock_gateway.policy.bundles.kept import KeptBundle
from interlock_gateway.policy.bundles.keys import VerificationKey, verification_key
from interlock_gateway.policy.bundles.loading import load_opened
from interlock_gateway.policy.bundles.manifest import BundleKind
from interlock_gateway.policy.bundles.opened import OpenedBundle, open_bundle
from interlock_gateway.policy.bundles.sources import BundleSource, open_source, shown
from interlock_gateway.policy.origin import OriginStatus, content_digest

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Candidate:
    raw: bytes
    opened: OpenedBundle
    from_disk: bool


class BundleOrigin:
    """One bundle, and directories on top when it is an overlay itself. Made by `open_origin`."""

    def __init__(
        self,
        config: BundleConfig,
        source: BundleSource,
        keys: Sequence[VerificationKey],
        kept: KeptBundle | None,
        *,
        profile: str,
        overlays: Sequence[Path],
        watch_s: float,
    ) -> None:
        self._config = config
        self._source = source
        self._keys = tuple(keys)
        self._kept = kept
        self._profile = profile
        self._overlays = tuple(overlays)
        self._version = self._digest = ""
        self._fetched: bytes | None = None
        self._candidate: _Candidate | None = None
        self._status = OriginStatus((shown(config.url), *(path.name for path in overlays)))
        self.every_s = watch_s if source.settles else config.poll_s
        self.settles = source.settles or bool(overlays)

    @property
    def status(self) -> OriginStatus:
        """Where it comes from, and what is known of the bundle in force."""
        return self._status

    async def look(self) -> str:
        """Ask the source; what is new is fetched, to be loaded."""
        try:
            fetched = await self._source.fetch(self._version)
        except BundleError as error:
            self._status = replace(self._status, problem=error.problem)
            raise
        self._status = replace(self._status, problem="")
        if fetched is not None:
            self._version, self._fetched = fetched.version, fetched.raw
            self._digest = hashlib.sha256(fetched.raw).hexdigest()
        return f"{self._digest}-{await asyncio.to_thread(content_digest, self._overlays)}"

    async def load(self, *, allow_older: bool = False) -> PolicyBundle:
        """Verify and load what was fetched last; `allow_older` is an operator's word that its order does not matter."""
        if self._fetched is None:
            self._version = ""
            await self.look()
        raw, self._fetched = self._fetched, None
        if raw is None:
            raise BundleError(BundleFault.UNREACHABLE, "said that nothing changed, when it was not known", self._place)
        return await asyncio.to_thread(self._loaded, raw, ordered=not allow_older, from_disk=False)

    async def load_kept(self) -> PolicyBundle | None:
        """The last good bundle, verified again."""
        raw = await asyncio.to_thread(self._kept.read) if self._kept is not None else None
        if raw is None:
            return None
        return await asyncio.to_thread(self._loaded, raw, ordered=True, from_disk=True)

    async def activated(self) -> None:
        """Keep the bundle that was loaded last. That it cannot be kept is logged, and is no reason to drop it."""
        candidate, self._candidate = self._candidate, None
        if candidate is None:
            return
        opened = candidate.opened
        self._status = replace(
            self._status,
            verified=opened.signature is not None,
            sequence=opened.sequence,
            from_disk=candidate.from_disk,
            sources=(*(("shipped",) if opened.kind is BundleKind.OVERLAY else ()), self._place, *self._names),
        )
        if self._kept is None or candidate.from_disk:
            return
        try:
            await asyncio.to_thread(self._kept.keep, candidate.raw, opened)
        except OSError as error:
            _log.error("the policy bundle cannot be kept for a start without its source", extra={"problem": str(error)})

    async def close(self) -> None:
        """Close the source."""
        await self._source.close()

    @property
    def _place(self) -> str:
        return shown(self._config.url)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(path.name for path in self._overlays)

    def _loaded(self, raw: bytes, *, ordered: bool, from_disk: bool) -> PolicyBundle:
        opened = open_bundle(raw, self._keys, max_bytes=self._config.max_bytes)
        if ordered and self._kept is not None:
            self._kept.check_order(opened)
        bundle = load_opened(opened, profile=self._profile, overlays=self._overlays)
        self._candidate = _Candidate(raw, opened, from_disk)
        return bundle


def open_origin(
    config: BundleConfig, *, profile: str, overlays: Sequence[Path], watch_s: float, kept: Path | None
) -> BundleOrigin:
    """The origin that a configuration names; `kept` is where the last good bundle is kept. Blocks.

    Raises `BundleError` for a key that is none and an address that is none.
    """
    keys = [
        verification_key(key.file or key.secret_file or Path(), key.algorithm, key.id, key.scope) for key in config.keys
    ]
    place = KeptBundle(kept) if kept is not None else None
    source = open_source(config)
    return BundleOrigin(config, source, keys, place, profile=profile, overlays=overlays, watch_s=watch_s)
