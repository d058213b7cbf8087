"""The parts of the configuration about bundles of policies and about candidates (LIFE-4, LIFE-5)."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from interlock_gateway.config_section import Bytes, Seconds, Section

BundleAlgorithm = Literal[
    "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512", "HS256", "HS384", "HS512"
]


class BundleKeyConfig(Section):
    """A key that bundles may be signed with."""

    id: Annotated[str, Field(min_length=1, max_length=256)]
    """Its id, as the signature names it."""
    file: Path | None = None
    """The public key, or a certificate, in PEM."""
    secret_file: Path | None = None
    """For `HS256` and its kin in place of `file`: a file that is the secret, at least 32 bytes (`HS512`: 64)."""
    algorithm: BundleAlgorithm = "RS256"
    """What signatures with this key are made with; what a signature says of itself does not count."""
    scope: str = ""
    """The scope that a signature with this key must name; empty: none."""


class BundleConfig(Section):
    """A bundle of policies in OPA's format, and where it is had."""

    url: Annotated[str, Field(min_length=1)]
    """A file, or `file://`, `https://`, `s3://`, `gs://` or `az://`; `http://` to this machine only."""
    keys: tuple[BundleKeyConfig, ...] = ()
    """Keys that it may be signed with. With one, a bundle that is not signed is refused."""
    poll_s: Seconds = 60.0
    """How often a server or an object store is asked for a newer one; a file is looked at every `policy.watch_s`."""
    token_file: Path | None = None
    """A file that holds the bearer token for the server."""
    max_bytes: Bytes = 16 * 1024 * 1024
    """The most bytes it may have, packed and unpacked."""
    plaintext: bool = False
    """Take it over `http://` from other hosts too. The token, if there is one, is sent unencrypted then."""


class ShadowConfig(Section):
    """A candidate that is evaluated beside the policies in force and enforces nothing (LIFE-5)."""

    overlays: tuple[Path, ...] = ()
    """The candidate's directories, in place of `policy.overlays`."""
    bundle: BundleConfig | None = None
    """The candidate's bundle, in place of `policy.bundle`."""
    profile: Literal["observe", "standard", "strict"] | None = None
    """The candidate's profile; without one, that of the policies in force."""
    allow: tuple[Path, ...] = ()
    """Directories in which operators may choose a candidate at run time: a directory, or a bundle's file."""
    timeout_s: Annotated[float, Field(gt=0, le=10)] = 0.25
    """The longest it may take for one call."""
    queue: Annotated[int, Field(ge=1, le=10_000)] = 64
    """Calls that wait for it; more are skipped and counted."""
    max_per_s: Annotated[float, Field(gt=0, le=100_000)] = 200.0
    """The most calls it is asked about in a second; more are skipped and counted."""
    max_worker_bytes: Bytes = 256 * 1024 * 1024
    """Address space of its one worker process."""

    @property
    def has_candidate(self) -> bool:
        """Whether there is a candidate from the start."""
        return bool(self.overlays) or self.bundle is not None or self.profile is not None
