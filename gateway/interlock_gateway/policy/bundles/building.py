"""Builds and signs bundles: the whole policy, or an overlay alone (LIFE-4)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.bundles.archive import read_archive, write_archive
from interlock_gateway.policy.bundles.errors import BundleError, BundleFault
from interlock_gateway.policy.bundles.keys import SigningKey
from interlock_gateway.policy.bundles.manifest import MANIFEST, REGO_VERSION, BundleKind, read_manifest
from interlock_gateway.policy.bundles.opened import MAX_BYTES
from interlock_gateway.policy.bundles.signing import SIGNATURES, sign_files
from interlock_gateway.policy.settings import read_yaml

NAMES = frozenset({"revision", "enforced"})
"""What the data of a whole bundle says of it beside its profile, so that OPA can answer which policy it has."""


def policy_files(bundle: PolicyBundle, *, sequence: int) -> dict[str, bytes]:
    """The files of a whole bundle: what decides, and the operator's own tests, which the gateway runs before it swaps.

    `data.interlock` has `revision`, `profile` and `enforced` besides the settings.
    """
    data = json.loads(bundle.data_json)
    data["interlock"] |= {"revision": bundle.revision, "enforced": bundle.enforced}
    own_tests = [(path, source) for path, source in bundle.tests if "/custom/" in f"/{path}"]
    files = {path: source.encode() for path, source in (*bundle.modules, *own_tests)}
    files["data.json"] = _json(data)
    files[MANIFEST] = _manifest(bundle.revision, ["interlock"], BundleKind.POLICY, sequence)
    return files


def overlay_files(directory: Path, *, sequence: int) -> dict[str, bytes]:
    """The files of an overlay's bundle: its rules and tests in `custom/`, and its `data.yaml`. Raises `BundleError`."""
    files = {
        path.relative_to(directory).as_posix(): _content(path)
        for path in sorted((directory / "custom").rglob("*.rego"))
    }
    data_file = directory / "data.yaml"
    data = read_yaml(data_file, str(data_file)) if data_file.is_file() else {}
    if not files and not data:
        raise BundleError(BundleFault.MALFORMED, "holds neither rules in custom/ nor data.yaml", str(directory))
    files["data.json"] = _json(data)
    roots = ["interlock/custom", "interlock/custom_test", *data]
    files[MANIFEST] = _manifest("", roots, BundleKind.OVERLAY, sequence)
    return files


def packed(files: Mapping[str, bytes]) -> bytes:
    """The archive of these files, the same bytes each time."""
    return write_archive(files)


def signed(raw: bytes, key: SigningKey, *, issued_at: int, max_bytes: int = MAX_BYTES) -> bytes:
    """The bundle `raw` with a signature in place of the one it had. Raises `BundleError` for what is no bundle."""
    files = read_archive(raw, max_bytes)
    files.pop(SIGNATURES, None)
    read_manifest(files)
    files[SIGNATURES] = sign_files(files, key, issued_at=issued_at)
    return write_archive(files)


def unnamed(data: JsonObject) -> tuple[JsonObject, JsonObject]:
    """What a whole bundle's data has under `interlock`: without what `policy_files` added, and that."""
    inner = data.get("interlock")
    if not isinstance(inner, dict):
        raise BundleError(BundleFault.NOT_LOADABLE, "holds no data of Interlock's policies")
    rest = {name: value for name, value in inner.items() if name not in NAMES}
    return rest, {name: inner[name] for name in NAMES & inner.keys()}


def _manifest(revision: str, roots: list[str], kind: BundleKind, sequence: int) -> bytes:
    return _json(
        {
            "revision": revision,
            "roots": roots,
            "rego_version": REGO_VERSION,
            "metadata": {"interlock": {"kind": kind.value, "sequence": sequence}},
        }
    )


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, indent=1).encode() + b"\n"


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BundleError(BundleFault.MALFORMED, f"cannot be read: {error.strerror or error}", str(path)) from error
