"""Reads one URL as the WHATWG URL Standard does, and says where an older reader would see something else."""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from interlock_gateway.facts.urls.addresses import Reach, reach_of_address, reach_of_name

MAX_URL_CHARS = 8192
MAX_LABELS = 32
_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}

HAZARDS = ("stripped_characters", "backslash", "read_differently", "several_urls", "invisible_characters")
"""What makes readers of a URL see different things in it."""

_ATTRIBUTES = ("protocol", "username", "password", "hostname", "port", "pathname", "search", "hash")
_STRIPPED = re.compile(r"\A[\x00-\x20]|[\x00-\x20]\Z|[\t\n\r]")
_SEVERAL = re.compile(r"[\s,;|<>\"'][A-Za-z][A-Za-z0-9+.-]*:(?://|\\\\)")
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]")
# RFC 3986, appendix B, as far as it matters here.
_GENERIC = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?")
_PORT = re.compile(r":([0-9]*)\Z")


@dataclass(frozen=True, slots=True)
class Reading:
    """What one URL says. `host` is in ASCII, in lower case, without brackets or a dot at its end.

    `domains` are the host and each domain above it; `port` is the one that would be connected to. A character that
    is percent-encoded is one of `query_chars`. `problem` says why the URL is not understood, and then nothing else is
    known.
    """

    scheme: str | None = None
    host: str | None = None
    domains: tuple[str, ...] = ()
    port: int | None = None
    default_port: bool = False
    userinfo: bool = False
    path: str = ""
    query_chars: int = 0
    fragment: bool = False
    address: bool = False
    reach: Reach = "none"
    hazards: tuple[str, ...] = ()
    problem: str | None = None


@functools.cache
def _parser() -> Callable[[str, Iterable[str]], Mapping[str, Any]]:
    from ada_url import parse_url  # noqa: PLC0415 - four megabytes, for those who have a tool that fetches

    return parse_url


def read(text: str) -> Reading:
    """Read `text` as a URL that stands alone. Never raises."""
    if len(text) > MAX_URL_CHARS:
        return Reading(problem=f"longer than {MAX_URL_CHARS} characters")
    parts = _parsed(text)
    if parts is None:
        return Reading(problem="not an absolute URL that can be read; write it out, with its scheme")
    scheme = parts["protocol"].removesuffix(":")
    host = parts["hostname"].removeprefix("[").removesuffix("]").rstrip(".") or None
    domains = _domains(host)
    if host and (domains is None or ".." in host):
        return Reading(problem="a host name that no name server knows")
    address = reach_of_address(host) if host else None
    default = _DEFAULT_PORTS.get(scheme)
    port = int(parts["port"]) if parts["port"] else default
    generic = _generic(text)
    return Reading(
        scheme=scheme,
        host=host,
        domains=() if address else domains or (),
        port=port if host else None,
        default_port=port == default,
        userinfo=bool(parts["username"] or parts["password"]) or "@" in (generic[1] or ""),
        path=parts["pathname"],
        query_chars=len(unquote_to_bytes(parts["search"])),
        fragment=bool(parts["hash"]),
        address=address is not None,
        reach=(address or reach_of_name(host)) if host else "none",
        hazards=_hazards(text, generic, (scheme, parts["hostname"].rstrip("."), port)),
    )


def _parsed(text: str) -> Mapping[str, str] | None:
    try:
        return _parser()(text, _ATTRIBUTES)
    except ValueError:
        return None


def _domains(host: str | None) -> tuple[str, ...] | None:
    """`a.b.c` as `a.b.c`, `b.c`, `c`; None when there are too many labels."""
    labels = (host or "").split(".")
    if len(labels) > MAX_LABELS:
        return None
    return tuple(".".join(labels[index:]) for index in range(len(labels)))


def _generic(text: str) -> tuple[str | None, str | None]:
    """Scheme and authority as RFC 3986 has them."""
    match = _GENERIC.match(text)
    return (match[1], match[2]) if match else (None, None)


def _hazards(
    text: str, generic: tuple[str | None, str | None], read_as: tuple[str, str, int | None]
) -> tuple[str, ...]:
    found = {
        "stripped_characters": bool(_STRIPPED.search(text)),
        "backslash": "\\" in text,
        "read_differently": read_as[0] in _DEFAULT_PORTS and _as_generic(*generic) != read_as,
        "several_urls": bool(_SEVERAL.search(text)),
        "invisible_characters": bool(_INVISIBLE.search(text)),
    }
    return tuple(hazard for hazard in HAZARDS if found[hazard])


def _as_generic(scheme: str | None, authority: str | None) -> tuple[str, str, int | None] | None:
    """Scheme, host and port as a reader of RFC 3986 sees them, with the host in the form of the standard's own."""
    if not scheme or not authority:
        return None
    server = authority.rpartition("@")[2]
    given = _PORT.search(server)
    host = server[: given.start()] if given else server
    # One that keeps what is percent-encoded in a host, or looks up what it does not know, gets somewhere else.
    again = _parsed(f"http://{host}/") if "%" not in host else None
    if again is None or again["pathname"] != "/" or again["port"] or again["search"] or again["hash"]:
        return None
    name = scheme.lower()
    port = int(given[1]) if given and given[1] else _DEFAULT_PORTS.get(name)
    return name, again["hostname"].rstrip("."), port
