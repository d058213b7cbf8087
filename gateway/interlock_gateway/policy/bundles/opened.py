"""A bundle that was read and, where keys are configured, verified: the one way from bytes to policies."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.policy.bundles.archive import read_archive
from interlock_gateway.policy.bundles.errors import BundleError, BundleFault
from interlock_gateway.policy.bundles.hashing import document_of
from interlock_gateway.policy.bundles.keys import VerificationKey
from interlock_gateway.policy.bundles.manifest import BundleKind, Manifest, check_roots, read_manifest
from interlock_gateway.policy.bundles.signing import SIGNATURES, Signature, verify_files

MAX_BYTES = 16 * 1024 * 1024
_DATA = frozenset({"data.json", "data.yaml", "data.yml"})


@dataclass(frozen=True, slots=True)
class OpenedBundle:
    """What a bundle holds. `digest` names its bytes; `signature` is absent when no key was asked for.

    `sequence` orders the bundles of one source, the later the higher; absent when the bundle does not say.
    """

    digest: str
    manifest: Manifest
    kind: BundleKind
    modules: Mapping[str, str]
    data: JsonObject
    signature: Signature | None
    sequence: int | None


def open_bundle(raw: bytes, keys: Sequence[VerificationKey] = (), *, max_bytes: int = MAX_BYTES) -> OpenedBundle:
    """Read a bundle. With `keys` it has to be signed by one of them. Raises `BundleError`.

    A signed bundle says in what order it comes: by `metadata.interlock.sequence` in its manifest, else by when its
    signature was made.
    """
    files = read_archive(raw, max_bytes)
    signature = None
    if keys:
        signature = verify_files(files, keys)
    elif SIGNATURES in files:
        raise BundleError(BundleFault.NO_KEY, "is signed, and no key to verify it with is configured")
    manifest = read_manifest(files)
    modules = {name: _text(name, content) for name, content in files.items() if name.endswith(".rego")}
    data = _data(files)
    check_roots(manifest, modules, data)
    sequence = manifest.metadata.interlock.sequence
    if sequence is None and signature is not None:
        sequence = signature.issued_at
    if sequence is None and keys:
        problem = "says nothing of its order: neither a sequence in its manifest nor when its signature was made"
        raise BundleError(BundleFault.WITHOUT_ORDER, problem)
    return OpenedBundle(
        hashlib.sha256(raw).hexdigest(), manifest, _kind(manifest, modules, data), modules, data, signature, sequence
    )


def _kind(manifest: Manifest, modules: Mapping[str, str], data: JsonObject) -> BundleKind:
    """What the manifest says, or what a bundle that others built looks like."""
    if (said := manifest.metadata.interlock.kind) is not None:
        return said
    is_whole = "interlock" in data or not all(name.startswith("custom/") for name in modules)
    return BundleKind.POLICY if is_whole else BundleKind.OVERLAY


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BundleError(BundleFault.MALFORMED, f"is not in UTF-8: {error}", name) from error


def _data(files: Mapping[str, bytes]) -> JsonObject:
    """Every data file in its directory's place, as OPA joins them; two values for one place are refused."""
    tree: JsonObject = {}
    for name, content in files.items():
        folder, _, base = name.rpartition("/")
        if base not in _DATA:
            continue
        document = document_of(name, content)
        if not isinstance(document, dict):
            raise BundleError(BundleFault.MALFORMED, "must be a mapping", name)
        node: Any = tree
        for part in filter(None, folder.split("/")):
            node = node.setdefault(part, {})
            if not isinstance(node, dict):
                raise BundleError(BundleFault.MALFORMED, f"{part} is already a value", name)
        _join(node, document, name)
    return tree


def _join(node: dict[str, Any], document: dict[str, Any], name: str) -> None:
    for key, value in document.items():
        before = node.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            _join(before, value, name)
        elif key in node:
            raise BundleError(BundleFault.MALFORMED, f"gives {key} a second value", name)
        else:
            node[key] = value
