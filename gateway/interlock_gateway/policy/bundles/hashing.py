"""Hashes of a bundle's files as OPA makes them (`v1/bundle/hash.go`).

JSON and YAML documents are hashed by what they say, in one form; every other file by its bytes.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from interlock_gateway.policy.bundles.errors import BundleError, BundleFault

DEFAULT_ALGORITHM = "SHA-256"
ALGORITHMS: Mapping[str, Callable[[bytes], "hashlib._Hash"]] = {
    "SHA-256": hashlib.sha256,
    "SHA-384": hashlib.sha384,
    "SHA-512": hashlib.sha512,
}
"""Of those that OPA knows, the ones for which nobody can make two files with one hash."""
_STRUCTURED = frozenset({"data.json", ".manifest"})
_YAML = frozenset({"data.yaml", "data.yml"})
_ESCAPED = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED |= {chr(code): f"\\u{code:04x}" for code in range(0x20) if chr(code) not in _ESCAPED}
_ESCAPES = str.maketrans(_ESCAPED | {"\u2028": "\\u2028", "\u2029": "\\u2029"})


class _Number(str):
    """A number as it is written: OPA hashes `1.0` and `1` differently."""

    __slots__ = ()


def file_hash(name: str, content: bytes, algorithm: str = DEFAULT_ALGORITHM) -> str:
    """The hash of a file in lower-case hex. Raises `BundleError` for an unknown algorithm or an unreadable document."""
    digest = ALGORITHMS.get(algorithm)
    if digest is None:
        raise BundleError(BundleFault.SIGNATURE, f"is signed by the hash {algorithm!r}, which is not accepted", name)
    base = name.rpartition("/")[2]
    if base in _STRUCTURED or base in _YAML:
        return digest(_one_form(document_of(name, content, as_written=True)).encode()).hexdigest()
    return digest(content).hexdigest()


def document_of(name: str, content: bytes, *, as_written: bool = False) -> Any:
    """The JSON or YAML document in a file, numbers as texts when `as_written`. Raises `BundleError`."""
    try:
        text = content.decode("utf-8")
        if name.rpartition("/")[2] in _YAML:
            _refuse_aliases(text)
            value = yaml.safe_load(text)
            # By way of JSON, as OPA does: what JSON cannot say is refused there.
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        numbers: dict[str, Any] = {"parse_int": _Number, "parse_float": _Number} if as_written else {}
        document = json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_constant, **numbers)
        json.dumps(document, ensure_ascii=False).encode()  # half of a surrogate pair is no character
    except (ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        raise BundleError(BundleFault.MALFORMED, f"cannot be read: {error}", name) from error
    return document


def _refuse_aliases(text: str) -> None:
    """A few lines of aliases to aliases can stand for gigabytes."""
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
        raise ValueError("a bundle's YAML has no aliases")


def _one_form(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(key)}:{_one_form(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_one_form, value)) + "]"
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    return json.dumps(value)


def _quoted(text: str) -> str:
    # Go's encoder: it escapes less than Python's, and two line separators that Python's leaves alone.
    return f'"{text.translate(_ESCAPES)}"'


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key is there twice")
    return document


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")
