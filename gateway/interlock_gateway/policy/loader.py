"""Finds policies on disk and makes a bundle of them: the shipped ones, a profile, and the operator's overlays."""

import importlib.resources
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.policy.bundle import TEST_SUFFIX, PolicyBundle, make_bundle
from interlock_gateway.policy.direction_files import read_directions
from interlock_gateway.policy.directions import looser_settings
from interlock_gateway.policy.exemptions import indexed, read_exemptions
from interlock_gateway.policy.inspection import refuse_unsafe
from interlock_gateway.policy.overlay_files import refuse_unread
from interlock_gateway.policy.settings import (
    OnePlace,
    PolicySourceError,
    by_line,
    overridden,
    override,
    read_yaml,
    refuse,
)
from interlock_gateway.policy.written import Written, read_written
from interlock_gateway.policy.yaml_lines import YamlLines

CUSTOM_PACKAGE = "interlock.custom"
_PACKAGE = re.compile(r"^package[ \t]+(\S+)", re.MULTILINE)
_OVERLAY_KEYS = frozenset({"settings", "exemptions"})
_RULE_FILE = re.compile(r"(?:rules/|[^/]+/(?=custom/))(?P<name>.+)\.rego")


def shipped_policies() -> Path:
    """The directory of the shipped policies: inside the installed package, else the repository's."""
    installed = Path(str(importlib.resources.files("interlock_gateway"))) / "shipped_policies"
    if installed.is_dir():
        return installed
    return Path(__file__).resolve().parents[3] / "policies" / "interlock"


def load_bundle(
    *,
    profile: str = "standard",
    overlays: Sequence[Path] = (),
    directory: Path | None = None,
    changes: JsonObject | None = None,
    exemptions: JsonValue = None,
    now: float | None = None,
) -> PolicyBundle:
    """The bundle of the shipped policies, or of those in `directory`, under `profile`, fit to be evaluated.

    `overlays` go on top, in order, and `changes` to the settings last. An overlay is a directory with rules in
    `custom/` (package `interlock.custom`), and in `data.yaml` settings, which may only make decisions stricter, and
    exemptions, which may loosen them (POL-2). `changes` are free, and `exemptions` are taken beside those of overlays:
    both are for trying policies out. `now` is the Unix time when overlays are read, by default the present.

    Blocks; for anything but the shipped policies by themselves it starts a process that looks at them. Raises
    `PolicySourceError` for what cannot be read, an unknown profile or setting, a looser one, a bad exemption, an
    overlay that reaches beyond its own package, or a rule that must not be loaded; and `InspectionError` when that
    cannot be told.
    """
    bundle = read_bundle(
        profile=profile, overlays=overlays, directory=directory, changes=changes, exemptions=exemptions, now=now
    )
    if overlays or directory is not None:
        refuse_unsafe(bundle)
    return bundle


def read_bundle(
    *,
    profile: str = "standard",
    overlays: Sequence[Path] = (),
    directory: Path | None = None,
    changes: JsonObject | None = None,
    exemptions: JsonValue = None,
    now: float | None = None,
) -> PolicyBundle:
    """The same bundle, whatever its rules do: for checking it. Raises `PolicySourceError` as `load_bundle` does."""
    root = directory or shipped_policies()
    at = time.time() if now is None else now
    sources = read_sources(root)
    data = _read_data(root)
    chosen = _profile(data, profile)
    settings = override(
        _mapping(data, "settings"), chosen.get("settings", {}), f"profiles/data.yaml, profile {profile}"
    )
    # All that is wrong is told at once: whoever mends it need not come back for each.
    problems: list[PolicySourceError] = []
    read = [*read_exemptions(exemptions or [], OnePlace("exemptions"), problems, now=None)]
    for overlay in overlays:
        try:
            found = _read_overlay(overlay)
            sources = _joined(sources, found.sources)
        except PolicySourceError as error:
            problems += error.each
            continue
        problems += found.problems
        settings = _tightened(settings, found, root, problems)
        read += read_exemptions(found.exemptions, found.places.under("exemptions"), problems, now=at)
    never = _mapping(_mapping(data, "exemptions"), "never")
    exempted = indexed(read, _rule_names(sources), never, problems)
    refuse(sorted(problems, key=by_line))
    settings = override(settings, changes or {}, "changes")
    tree: JsonObject = {"interlock": {**data, "profile": profile, "settings": settings, "exemptions": exempted}}
    return make_bundle(sources, tree, profile=profile, enforced=chosen.get("enforced") is not False)


def read_settings(profile: str = "standard", directory: Path | None = None) -> dict[str, JsonObject]:
    """The settings under a profile by concern, with no overlay. Raises `PolicySourceError`."""
    settings = _settings(_read_data(directory or shipped_policies()), profile)
    return {concern: _mapping(settings, concern) for concern in settings}


def read_sources(root: Path, prefix: str = "") -> dict[str, str]:
    """The Rego sources under `root` by their path relative to it, tests included."""
    if not root.is_dir():
        raise PolicySourceError(str(root), "is not a directory of policies")
    return {
        f"{prefix}{path.relative_to(root).as_posix()}": _read_text(path, f"{prefix}{path.relative_to(root).as_posix()}")
        for path in sorted(root.rglob("*.rego"))
    }


def _read_text(path: Path, place: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicySourceError(place, f"cannot be read: {error}") from error


def _read_data(root: Path) -> JsonObject:
    """Every `data.yaml` under `root`, each in its directory's place, as OPA reads them."""
    shipped = root == shipped_policies()
    tree: JsonObject = {}
    for path in sorted(root.rglob("data.yaml")):
        relative = path.relative_to(root)
        node = tree
        for part in relative.parts[:-1]:
            inner = node.setdefault(part, {})
            if not isinstance(inner, dict):
                raise PolicySourceError(relative.as_posix(), f"{part} is already a value")
            node = inner
        node.update(read_yaml(path, relative.as_posix(), shipped=shipped))
    return tree


def _mapping(data: JsonObject, name: str) -> JsonObject:
    value: JsonValue = data.get(name, {})
    if not isinstance(value, dict):
        raise PolicySourceError(name, "must be a mapping")
    return value


def _settings(data: JsonObject, profile: str) -> JsonObject:
    changes = _profile(data, profile).get("settings", {})
    return override(_mapping(data, "settings"), changes, f"profiles/data.yaml, profile {profile}")


def _profile(data: JsonObject, profile: str) -> JsonObject:
    profiles = _mapping(data, "profiles")
    chosen = profiles.get(profile)
    if not isinstance(chosen, dict):
        raise PolicySourceError("profiles/data.yaml", f"has no profile {profile}; it has {', '.join(sorted(profiles))}")
    return chosen


@dataclass(frozen=True, slots=True)
class _Overlay:
    """What an overlay holds; `places` tell where the parts of its `data.yaml` stand."""

    sources: dict[str, str]
    settings: JsonValue
    exemptions: JsonValue
    places: YamlLines
    problems: tuple[PolicySourceError, ...] = ()


def _read_overlay(overlay: Path) -> _Overlay:
    if not overlay.is_dir():
        raise PolicySourceError(str(overlay), "is not a directory")
    # What begins with a dot is not looked at: a mounted ConfigMap keeps the versions of its files there.
    tops = {path: path.relative_to(overlay).parts[0] for path in overlay.rglob("*.rego")}
    stray = [path for path, top in tops.items() if top != "custom" and not top.startswith(".")]
    if stray:
        raise PolicySourceError(str(stray[0]), "rules of an overlay belong in its directory custom/")
    refuse_unread(overlay)
    rules = overlay / "custom"
    sources = read_sources(rules, f"{overlay.name}/custom/") if rules.is_dir() else {}
    for path, source in sources.items():
        _check_package(path, source)
    data_file = overlay / "data.yaml"
    place = str(data_file)
    written = read_written(data_file, place) if data_file.is_file() else Written({}, YamlLines(place))
    data = written.value
    unknown = [
        PolicySourceError(
            written.places.at(key), f"unknown key {key}; an overlay's data.yaml holds settings and exemptions"
        )
        for key in data
        if key not in _OVERLAY_KEYS
    ]
    if not data and not written.problems and all(path.endswith(TEST_SUFFIX) for path in sources):
        problem = (
            "is an overlay that says nothing: it has no rules in custom/, and no settings or exemptions in data.yaml"
        )
        raise PolicySourceError(str(overlay), f"{problem} (`settings: {{}}` there says that it is meant so)")
    return _Overlay(
        sources, data.get("settings", {}), data.get("exemptions", []), written.places, (*written.problems, *unknown)
    )


def _tightened(settings: JsonObject, overlay: _Overlay, root: Path, problems: list[PolicySourceError]) -> JsonObject:
    places = overlay.places.under("settings")
    changed = overridden(settings, overlay.settings, places, problems)
    problems += looser_settings(settings, changed, read_directions(root), overlay.settings, places)
    return changed


def _joined(sources: dict[str, str], more: dict[str, str]) -> dict[str, str]:
    if taken := sources.keys() & more.keys():
        raise PolicySourceError(min(taken), "another overlay has a file of this name")
    return {**sources, **more}


def _rule_names(sources: Iterable[str]) -> list[str]:
    """What the rules of these files are called: `concern/rule`, and `custom/rule` those of overlays."""
    found = (_RULE_FILE.fullmatch(path) for path in sources if not path.endswith(TEST_SUFFIX))
    return [match["name"] for match in found if match]


def _check_package(path: str, source: str) -> None:
    header = _PACKAGE.search(source)
    if header is None:
        raise PolicySourceError(f"{path}:1", f"is not valid Rego: it does not begin with `package {CUSTOM_PACKAGE}`")
    package = header[1]
    own = (CUSTOM_PACKAGE, f"{CUSTOM_PACKAGE}_test") if path.endswith(TEST_SUFFIX) else (CUSTOM_PACKAGE,)
    if package not in own and not package.startswith(f"{CUSTOM_PACKAGE}."):
        raise PolicySourceError(path, f"an overlay's rules are in package {CUSTOM_PACKAGE}, not {package}")
