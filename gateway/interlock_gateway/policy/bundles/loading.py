"""From an opened bundle to policies that can decide."""

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.policy.bundle import PolicyBundle, make_bundle
from interlock_gateway.policy.bundles.building import unnamed
from interlock_gateway.policy.bundles.errors import BundleError, BundleFault
from interlock_gateway.policy.bundles.manifest import BundleKind, package_of
from interlock_gateway.policy.bundles.opened import OpenedBundle
from interlock_gateway.policy.inspection import refuse_unsafe
from interlock_gateway.policy.loader import load_bundle
from interlock_gateway.policy.settings import PolicySourceError, refuse

_LINE_OF_DATA = re.compile(r"(data\.yaml):\d+$")
NAME = "bundle"
"""What the directory of an unpacked overlay is called in the places of problems."""


def load_opened(opened: OpenedBundle, *, profile: str, overlays: Sequence[Path] = ()) -> PolicyBundle:
    """The policies of a bundle, fit to be evaluated.

    An overlay's bundle goes on top of what ships under `profile`, and `overlays` on top of that. A whole bundle decides
    as it stands, as it would on OPA: its settings, profile and overlays were put together when it was built. Blocks.
    Raises `PolicySourceError` and `InspectionError` as `load_bundle` does.
    """
    if opened.kind is BundleKind.OVERLAY:
        return _on_top(opened, profile, overlays)
    if overlays:
        problem = "holds the whole policy: policy.overlays cannot go on top of it, build them into it"
        raise BundleError(BundleFault.NOT_LOADABLE, problem)
    bundle = as_it_stands(opened.modules, opened.data)
    refuse_renamed(bundle, opened.data)
    refuse_unsafe(bundle)
    return bundle


def as_it_stands(modules: Mapping[str, str], data: JsonObject) -> PolicyBundle:
    """A whole bundle of these files and this data, not looked at yet. Raises `BundleError` when it is none."""
    if not any(package_of(source) == "interlock" for source in modules.values()):
        raise BundleError(BundleFault.NOT_LOADABLE, "holds no rule that decides: none is in the package interlock")
    tree, said = unnamed(data)
    profile = tree.get("profile", "")
    if not isinstance(profile, str):
        raise BundleError(BundleFault.NOT_LOADABLE, "names no profile")
    enforced = said.get("enforced", _profile(tree, profile).get("enforced")) is not False
    return make_bundle(dict(modules), {**data, "interlock": tree}, profile=profile, enforced=enforced)


def refuse_renamed(bundle: PolicyBundle, data: JsonObject) -> None:
    """Raise `BundleError` when its data calls it by a revision that is not what it holds."""
    _, said = unnamed(data)
    if (named := said.get("revision", bundle.revision)) != bundle.revision:
        problem = f"calls itself {named} and holds {bundle.revision}: it was changed after it was built"
        raise BundleError(BundleFault.NOT_LOADABLE, problem)


def _profile(tree: JsonObject, profile: str) -> JsonObject:
    profiles = tree.get("profiles")
    chosen = profiles.get(profile) if isinstance(profiles, dict) else None
    return chosen if isinstance(chosen, dict) else {}


def _on_top(opened: OpenedBundle, profile: str, overlays: Sequence[Path]) -> PolicyBundle:
    try:
        with tempfile.TemporaryDirectory(prefix="interlock-bundle-") as place:
            return _unpacked(opened, Path(place), profile, overlays)
    except OSError as error:
        problem = f"cannot be unpacked to a temporary directory (TMPDIR): {error.strerror or error}"
        raise BundleError(BundleFault.NOT_LOADABLE, problem) from error


def _unpacked(opened: OpenedBundle, place: Path, profile: str, overlays: Sequence[Path]) -> PolicyBundle:
    directory = place / NAME
    _write(directory, opened.modules, opened.data)
    try:
        return load_bundle(profile=profile, overlays=(directory, *overlays))
    except PolicySourceError as error:
        refuse([_in_the_bundle(one, place) for one in error.each])
        raise


def _in_the_bundle(error: PolicySourceError, place: Path) -> PolicySourceError:
    """With the place in the bundle, not in a directory that will be gone; its data have other lines than those here."""
    where, what = (text.replace(f"{place}/", "") for text in (error.place, error.problem))
    return PolicySourceError(_LINE_OF_DATA.sub(r"\1", where), what)


def _write(directory: Path, modules: Mapping[str, str], data: JsonObject) -> None:
    """Put files into a directory that nobody else can read; their names were checked when the archive was read."""
    for name, source in modules.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(source.encode())
    directory.mkdir(exist_ok=True)
    # Not as JSON: YAML takes some of its numbers for words.
    (directory / "data.yaml").write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
