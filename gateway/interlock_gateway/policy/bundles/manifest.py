"""A bundle's `.manifest`, and what of OPA's format is not taken."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.policy.bundles.errors import BundleError, BundleFault
from interlock_gateway.policy.bundles.hashing import document_of
from interlock_gateway.policy.bundles.signing import SIGNATURES

MANIFEST = ".manifest"
REGO_VERSION = 1
_PACKAGE = re.compile(r"^package[ \t]+([^\s#]+)", re.MULTILINE)
_REFUSED = {
    "patch.json": "is a delta, which cannot be signed",
    "plan.json": "is a compiled plan",
    "plan.pb": "is a compiled plan",
}


class BundleKind(StrEnum):
    """What a bundle holds."""

    POLICY = "policy"
    """Everything that decides: rules, settings, a profile."""
    OVERLAY = "overlay"
    """An operator's own rules and settings, to go on top of what ships."""


class Ours(BaseModel):
    """What we keep in a manifest's metadata, under `interlock`."""

    model_config = ConfigDict(strict=True, extra="ignore")
    kind: BundleKind | None = Field(default=None, strict=False)
    sequence: Annotated[int, Field(ge=0, le=2**53)] | None = None


class Metadata(BaseModel):
    """A manifest's metadata, of which others may use the rest."""

    model_config = ConfigDict(strict=True, extra="ignore")
    interlock: Ours = Ours()


class Manifest(BaseModel):
    """OPA's manifest. `roots` are the paths of `data` that the bundle owns; without a list, all of them."""

    model_config = ConfigDict(strict=True, extra="ignore")
    revision: str = ""
    roots: tuple[str, ...] = Field(("",), strict=False)
    rego_version: int | None = None
    file_rego_versions: dict[str, int] = Field(default_factory=dict)
    wasm: tuple[Any, ...] = Field((), strict=False)
    metadata: Metadata = Metadata()


def read_manifest(files: Mapping[str, bytes]) -> Manifest:
    """The manifest of a bundle, an empty one when it has none. Raises `BundleError` for what is not taken."""
    _refuse_unknown(files)
    try:
        manifest = Manifest.model_validate(document_of(MANIFEST, files.get(MANIFEST, b"{}")))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise BundleError(BundleFault.MALFORMED, f"{place}: {first['msg']}", MANIFEST) from error
    if manifest.wasm:
        raise BundleError(BundleFault.MALFORMED, "asks for WebAssembly, which is not run", MANIFEST)
    versions = {manifest.rego_version or REGO_VERSION, *manifest.file_rego_versions.values()}
    if manifest.rego_version == 0 or versions != {REGO_VERSION}:
        raise BundleError(BundleFault.MALFORMED, "asks for a version of Rego that is not 1", MANIFEST)
    return manifest


def package_of(source: str) -> str:
    """The package that a Rego file begins with, dots between its parts; empty when it has none."""
    header = _PACKAGE.search(source)
    return header[1] if header else ""


def check_roots(manifest: Manifest, modules: Mapping[str, str], data: JsonObject) -> None:
    """Raise `BundleError` when the bundle holds a package or data outside the roots that its manifest names."""
    roots = [tuple(filter(None, root.strip("/").split("/"))) for root in manifest.roots]
    for name, source in modules.items():
        if not _within(tuple(package_of(source).split(".")), roots):
            raise BundleError(BundleFault.MALFORMED, "is of a package outside the roots of the manifest", name)
    if (stray := _outside(data, (), roots)) is not None:
        raise BundleError(BundleFault.MALFORMED, f"the data {'/'.join(stray)} is outside the roots", MANIFEST)


def _within(path: tuple[str, ...], roots: Iterable[tuple[str, ...]]) -> bool:
    return any(path[: len(root)] == root for root in roots)


def _outside(value: Any, path: tuple[str, ...], roots: list[tuple[str, ...]]) -> tuple[str, ...] | None:
    if _within(path, roots):
        return None
    if not isinstance(value, dict) or not any(root[: len(path)] == path for root in roots):
        return path
    return next((found for key, inner in value.items() if (found := _outside(inner, (*path, key), roots))), None)


def _refuse_unknown(files: Mapping[str, bytes]) -> None:
    """Files that OPA gives a meaning to, which they do not have here or only at the root."""
    for name in files:
        base = name.rpartition("/")[2]
        if base in _REFUSED or base.endswith((".wasm", ".manifest.pb")):
            raise BundleError(BundleFault.MALFORMED, _REFUSED.get(base, "is nothing that is taken in a bundle"), name)
        if (base.endswith(MANIFEST) and name != MANIFEST) or (base == SIGNATURES and name != SIGNATURES):
            raise BundleError(BundleFault.MALFORMED, "belongs at the root of a bundle", name)
