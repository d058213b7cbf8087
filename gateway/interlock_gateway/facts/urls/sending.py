"""What a call sends along with its URLs: the method that it names, a body, and what is carried beside them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

_METHODS = frozenset({"method", "httpmethod", "verb", "httpverb", "requestmethod"})
_PERHAPS_METHODS = frozenset({"type", "action", "operation"})
_OVERRIDES = frozenset({"xhttpmethodoverride", "xhttpmethod", "xmethodoverride"})
_BODIES = frozenset(
    {
        *("body", "data", "json", "payload", "form", "formdata", "files", "content", "postdata", "postbody"),
        *("requestbody", "requestdata", "rawbody", "rawdata", "bodytext", "bodyjson", "jsonbody", "jsondata"),
        *("jsonpayload", "multipart", "formfields", "uploadfile", "attachments"),
    }
)
_HEADERS = frozenset({"headers", "header", "requestheaders", "httpheaders", "extraheaders", "customheaders"})
_CARRIED = _HEADERS | frozenset(
    {
        *("params", "query", "queryparams", "searchparams", "urlparams", "parameters", "querystring", "qs"),
        *("cookies", "cookie", "useragent", "referer", "referrer"),
    }
)
_CONTAINERS = frozenset({"request", "requests", "options", "opts", "init", "config", "args", "arguments", "http"})
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
    """What a call sends; `pointers` say where its URLs stand. What stands elsewhere is not about the request."""
    holders = _holders(given, pointers)
    method = _method(holders)
    has_body = any(
        _folded(name) in _BODIES and _is_given(value) and not isinstance(value, bool)
        for holder in holders
        for name, value in holder.items()
    )
    return Sending(method, method not in _SAFE or has_body, _carried_chars(holders))


def _holders(given: Mapping[str, object], pointers: Iterable[str]) -> list[Mapping[str, object]]:
    """The objects in which a URL stands, near or far, and those in them that are called a request or its options."""
    found: dict[int, Mapping[str, object]] = {}
    for pointer in ("", *pointers):
        current: object = given
        for part in (*pointer.split("/")[1:], ""):
            if isinstance(current, Mapping):
                found[id(current)] = current
                found |= {id(one): one for one in _contained(current)}
                current = current.get(part.replace("~1", "/").replace("~0", "~"))
            elif isinstance(current, list | tuple) and part.isascii() and part.isdigit() and int(part) < len(current):
                current = current[int(part)]
            else:
                break
    return list(found.values())


def _contained(holder: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    for name, value in holder.items():
        if _folded(name) in _CONTAINERS:
            several = value if isinstance(value, list | tuple) else (value,)
            yield from (one for one in several if isinstance(one, Mapping))


def _method(holders: list[Mapping[str, object]]) -> str:
    named = [value for holder in holders for value in _named(holder) if _is_given(value)]
    texts = {value.strip().upper() for value in named if isinstance(value, str)}
    if not named:
        return "GET"
    method = texts.pop() if len(texts) == 1 and all(isinstance(value, str) for value in named) else ""
    return method if method.isascii() and method.isalpha() else ""


def _named(holder: Mapping[str, object]) -> Iterator[object]:
    """What stands where a method may be named."""
    for name, value in holder.items():
        folded = _folded(name)
        if folded in _METHODS or (folded in _PERHAPS_METHODS and isinstance(value, str) and value in _CHANGING):
            yield value
        elif folded in _HEADERS and isinstance(value, Mapping):
            yield from (one for header, one in value.items() if _folded(header) in _OVERRIDES)


def _carried_chars(holders: list[Mapping[str, object]]) -> int:
    carried = (
        value for holder in holders for name, value in holder.items() if _folded(name) in _CARRIED and _is_given(value)
    )
    return sum(len(value if isinstance(value, str) else json.dumps(value, default=str)) for value in carried)


def _is_given(value: object) -> bool:
    return value is not None and value not in ("", [], {}, ())


def _folded(name: object) -> str:
    return _JOINING.sub("", str(name)).lower()
