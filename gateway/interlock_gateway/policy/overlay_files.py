"""What lies in an overlay's directory and is not read: named, because a rule that never took effect looks accepted."""

import difflib
from collections.abc import Iterator
from pathlib import Path, PurePath

from interlock_gateway.policy.settings import PolicySourceError

DATA_FILE = "data.yaml"
RULES = "custom"
_DATA_SUFFIXES = frozenset({".yaml", ".yml", ".json", ".toml"})
_RULE_SUFFIX = ".rego"
_DATA_NAMES = ("data", "settings", "exemptions")
_ALIKE = 0.8


def refuse_unread(overlay: Path) -> None:
    """Raise `PolicySourceError` for files that look like rules or settings, and that nothing reads.

    What begins with a dot is not looked at, nor what looks like neither: notes, tests' cases, what an editor leaves.
    """
    unread = sorted(path for path in _files(overlay) if _is_meant(path))
    if unread:
        first, more = overlay / unread[0], [str(one) for one in unread[1:]]
        others = f"; nor is {', '.join(more)}" if more else ""
        read = f"an overlay is its {DATA_FILE} (settings and exemptions) and {RULES}/*{_RULE_SUFFIX} (rules)"
        raise PolicySourceError(str(first), f"is not read{others}: {read}")


def _files(overlay: Path) -> Iterator[PurePath]:
    """The files by their path in the overlay; what is mounted may have a link for its directory of rules."""
    roots = (overlay, overlay / RULES) if (overlay / RULES).is_symlink() else (overlay,)
    for root in roots:
        for path in root.rglob("*"):
            relative = path.relative_to(overlay)
            if not any(part.startswith(".") for part in relative.parts) and path.is_file():
                yield relative


def _is_meant(path: PurePath) -> bool:
    """Whether a file looks like a part of the overlay, and is at another place or has another name than is read."""
    if path == PurePath(DATA_FILE) or path.name.endswith("~"):
        return False
    suffix = path.suffix.lower()
    if path.parts[0] == RULES:
        return path.suffix != _RULE_SUFFIX and (suffix in _DATA_SUFFIXES or _is_like(suffix, _RULE_SUFFIX))
    named = suffix in _DATA_SUFFIXES and _is_like(path.stem.lower(), *_DATA_NAMES)
    return named or _is_like(suffix, _RULE_SUFFIX)


def _is_like(word: str, *known: str) -> bool:
    return bool(difflib.get_close_matches(word, known, n=1, cutoff=_ALIKE))
