"""What a call sends along with its URLs: the method that it names, a body, and what is carried beside them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from interlock_gateway.facts.names import MAX_NAME_CHARS

_PARTS: Mapping[str, str] = {
    **dict.fromkeys(("method", "httpmethod", "verb", "httpverb", "requestmethod"), "method"),
    **dict.fromkeys(("type", "action", "operation"), "perhaps"),
    **dict.fromkeys(("xhttpmethodoverride", "xhttpmethod", "xmethodoverride"), "override"),
    **dict.fromkeys(("body", "data", "json", "payload", "form", "formdata", "files", "content"), "body"),
    **dict.fromkeys(("postdata", "postbody", "requestbody", "requestdata", "rawbody", "rawdata"), "body"),
    **dict.fromkeys(("bodytext", "bodyjson", "jsonbody", "jsondata", "jsonpayload", "multipart"), "body"),
    **dict.fromkeys(("formfields", "uploadfile", "attachments"), "body"),
    **dict.fromkeys(("headers", "header", "requestheaders", "httpheaders"), "headers"),
    **dict.fromkeys(("extraheaders", "customheaders"), "headers"),
    **dict.fromkeys(("params", "query", "queryparams", "searchparams", "urlparams", "parameters"), "carried"),
    **dict.fromkeys(("querystring", "qs", "cookies", "cookie", "useragent", "referer", "referrer"), "carried"),
    **dict.fromkeys(("request", "requests", "options", "opts", "init", "config", "args"), "container"),
    **dict.fromkeys(("arguments", "http"), "container"),
}
"""What is looked for, by its name without what joins its words, in lower case."""
MAX_NAMES = 4096
"""How many names of a request are looked at."""
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_JOINING = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Sending:
    """`method` is in upper case: GET when none is named, empty when what is named is none or several.

    `sends` says whether it changes something or has a body; `carried` is how many characters go out beside the URLs,
    although they are not written in them.
    """

    method: str
    sends: bool
    carried: int


def sending(given: Mapping[str, object], pointers: Iterable[str]) -> Sending:
    """What a call sends; `pointers` say where its URLs stand. What stands elsewhere is not about the request.

    A request of more names than are looked at is taken for one that sends something.
    """
    methods: list[object] = []
    holders = _holders(given, pointers)
    if sum(map(len, holders)) > MAX_NAMES:
        return Sending("", sends=True, carried=0)
    has_body, carried = False, 0
    for holder in holders:
        for name, value in holder.items():
            part = _part(name)
            if part is None or value is None or value in ("", [], {}, ()):
                continue
            if part == "method" or (part == "perhaps" and isinstance(value, str) and value in _CHANGING):
                methods.append(value)
            elif part == "body":
                has_body = has_body or not isinstance(value, bool)
            elif part in {"headers", "carried"}:
                carried += len(value if isinstance(value, str) else json.dumps(value, default=str))
                if part == "headers" and isinstance(value, Mapping):
                    methods += [one for header, one in value.items() if _part(header) == "override"]
    method = _only(methods)
    return Sending(method, method not in _SAFE or has_body, carried)


def _holders(given: Mapping[str, object], pointers: Iterable[str]) -> list[Mapping[str, object]]:
    """The objects in which a URL stands, near or far, and those in them that are called a request or its options."""
    found: dict[int, Mapping[str, object]] = {}
    seen: set[int] = set()
    for pointer in ("", *pointers):
        current: object = given
        for part in (*pointer.split("/")[1:], ""):
            if isinstance(current, Mapping):
                if id(current) not in seen:
                    seen.add(id(current))
                    found[id(current)] = current
                    found |= {id(one): one for one in _contained(current)}
                current = current.get(part.replace("~1", "/").replace("~0", "~"))
            elif isinstance(current, list | tuple) and part.isascii() and part.isdigit() and int(part) < len(current):
                current = current[int(part)]
            else:
                break
    return list(found.values())


def _contained(holder: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    for name, value in islice(holder.items(), MAX_NAMES):
        if _part(name) == "container":
            several = value if isinstance(value, list | tuple) else (value,)
            yield from (one for one in several if isinstance(one, Mapping))


def _only(named: Sequence[object]) -> str:
    """The one method that is named: GET when none is, empty when what is named is none or several."""
    if not named:
        return "GET"
    texts = {value.strip().upper() if isinstance(value, str) else "" for value in named}
    method = texts.pop() if len(texts) == 1 else ""
    return method if method.isascii() and method.isalpha() else ""


def _part(name: object) -> str | None:
    """Which part of a request goes by this name, however it is written."""
    text = str(name)
    return _known_part(text) if len(text) <= MAX_NAME_CHARS else None


@lru_cache(maxsize=4096)
def _known_part(name: str) -> str | None:
    return _PARTS.get(_JOINING.sub("", name).lower())
