"""Whether what stands in a pod under one of the template's names is what the template would have put there.

Between our patch and the next look the API server writes defaults, and other webhooks add what they add to every
container. That is told apart from what would make another gateway of it.
"""

import posixpath
import re
from collections.abc import Iterator
from typing import Any

FREE = frozenset({"image", "imagePullPolicy", "resources", "env", "volumeMounts"})
"""What of a container is looked at by itself, or may be whatever it is."""
RESERVED_VARIABLES = re.compile(
    r"(INTERLOCK|PYTHON|LD_|OPA_|GRPC_|OPENSSL_|SSL_|PG|GCONV_|MALLOC_|GLIBC_).*|PATH|HOME|TMPDIR|IFS"
)
"""Variables that say what a process loads, whom it trusts or how it decides. Nobody adds one to the gateway's."""
PLACES_OF_OTHERS = ("/mnt", "/run", "/secrets", "/var/run", "/var/secrets", "/vault")
"""Below these others may mount what they give to every container, such as tokens. The program is elsewhere."""
_DEFAULTS: dict[str, Any] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "protocol": "TCP",
    "defaultMode": 420,
    "apiVersion": "v1",
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
    "scheme": "HTTP",
    "path": "/",
    "divisor": "0",
    "expirationSeconds": 3600,
    "volumeMode": "Filesystem",
}
"""What the API server writes where nothing was said."""
_SAID = frozenset({"allowPrivilegeEscalation", "automountServiceAccountToken", "enableServiceLinks"})
"""What holds unless it is said not to, so that nothing is not the same as no."""
_PINNED = re.compile(r"@sha256:[0-9a-f]{64}$")


def unlike(found: dict[str, Any], wanted: dict[str, Any], *, volumes: set[str], mirrors: list[str]) -> Iterator[str]:
    """What of the container `found` is not as in `wanted`, in words.

    `volumes` are the template's, and `mirrors` where its image may come from as well.
    """
    for key in sorted((found.keys() | wanted.keys()) - FREE):
        if not _same_under(key, found, wanted):
            yield f"its {key} {'is' if key in wanted else 'was added and is'} not what is put there"
    if not _is_image(str(found.get("image")), str(wanted.get("image")), mirrors):
        yield f"its image is not {wanted.get('image')}, and none from a mirror that the webhook knows"
    yield from _variables(found.get("env"), wanted.get("env"))
    yield from _mounts(found.get("volumeMounts"), wanted.get("volumeMounts"), volumes)


def same(found: Any, wanted: Any) -> bool:
    """Whether `found` says what `wanted` does and nothing else, but for defaults."""
    if isinstance(wanted, dict) and (isinstance(found, dict) or not found):
        there = found or {}
        return all(_same_under(key, there, wanted) for key in there.keys() | wanted.keys())
    if isinstance(wanted, list) and isinstance(found, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    return bool(found == wanted and type(found) is type(wanted)) or (not found and not wanted)


def same_volume(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether a volume is the template's. Sizes are left out, because Kubernetes writes them in its own way."""
    return same(_without_size(found), _without_size(wanted)) and _sources(found) == _sources(wanted)


def _same_under(key: str, found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    there = found.get(key)
    if key in _SAID and there is None and key in wanted:
        return wanted[key] is None
    return same(there, wanted[key]) if key in wanted else not there or there == _DEFAULTS.get(key)


def _sources(volume: dict[str, Any]) -> set[str]:
    """What the volume is made from. An `emptyDir` without anything in it is one all the same."""
    return {key for key, value in volume.items() if value is not None}


def _without_size(volume: dict[str, Any]) -> dict[str, Any]:
    empty = volume.get("emptyDir")
    if not isinstance(empty, dict):
        return volume
    return {**volume, "emptyDir": {key: value for key, value in empty.items() if key != "sizeLimit"}}


def _is_image(found: str, wanted: str, mirrors: list[str]) -> bool:
    pinned = found if _PINNED.search(wanted) else _PINNED.sub("", found)
    at_mirrors = {f"{mirror.rstrip('/')}/{name}" for mirror in mirrors for name in _names_of(wanted)}
    return pinned == wanted or pinned in at_mirrors


def _names_of(image: str) -> Iterator[str]:
    """The names that a mirror may have it under: with the registry, without it, and the last part alone."""
    while image:
        yield image
        _, _, image = image.partition("/")


def _variables(found: Any, wanted: Any) -> Iterator[str]:
    ours = {one["name"]: one for one in wanted or []}
    there = [one for one in found or [] if isinstance(one, dict)]
    # Of two variables with one name the last counts, so that each has to be the one that is wanted.
    if any(one["name"] in ours and not same(one, ours[one["name"]]) for one in there if "name" in one):
        yield "a variable of it has another value"
    for name in sorted(ours.keys() - {one.get("name") for one in there}):
        yield f"its variable {name} is missing"
    for one in there:
        name = str(one.get("name"))
        if name not in ours and RESERVED_VARIABLES.fullmatch(name):
            yield f"the variable {name} was added to it"


def _mounts(found: Any, wanted: Any, volumes: set[str]) -> Iterator[str]:
    there = [one for one in found or [] if isinstance(one, dict)]
    for one in wanted or []:
        if not any(same(other, one) for other in there):
            yield f"its mount at {one['mountPath']} is missing, or is another"
    places = {_place(one) for one in wanted or []}
    for one in there:
        if not any(same(one, other) for other in wanted or []) and not _is_others(one, places, volumes):
            yield f"{one.get('name')} was mounted in it at {_place(one)}"


def _is_others(mount: dict[str, Any], ours: set[str], volumes: set[str]) -> bool:
    place = _place(mount)
    beside = not any(f"{place}/".startswith(f"{one}/") or f"{one}/".startswith(f"{place}/") for one in ours)
    return beside and mount.get("name") not in volumes and any(place.startswith(f"{one}/") for one in PLACES_OF_OTHERS)


def _place(mount: dict[str, Any]) -> str:
    return "/" + posixpath.normpath(f"/{mount.get('mountPath')}").lstrip("/")
