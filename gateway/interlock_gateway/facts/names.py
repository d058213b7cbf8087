"""What arguments are called that hold a path, a pattern of paths, a command, a URL or SQL, when nobody says so."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

FactKind: TypeAlias = Literal["path", "glob", "command", "url", "sql"]
Holding: TypeAlias = Literal["sure", "likely", "perhaps"]
"""`sure` is a name that says so by itself; `likely` one that ends so, such as `output_path`, unless the value cannot be
one; `perhaps` one that does not say so, when its value does: `to: /etc/passwd`."""

MAX_NAME_CHARS = 128
MAX_CHARS = 8192
"""No longer names are looked at, nor longer values under names that do not say what they hold."""

MAX_LISTED = 512
"""How many of a list are looked at, which is more than any extractor takes."""

SURE: Mapping[FactKind, frozenset[str]] = {
    "path": frozenset(
        {
            *("path", "paths", "file", "files", "filepath", "filepaths", "filename", "filenames", "notebookpath"),
            *("directory", "directories", "dir", "dirs", "folder", "folders", "cwd", "workdir", "workingdirectory"),
            *("source", "src", "destination", "dest", "dst", "target", "targetpath", "sourcepath", "targetfile"),
            *("oldpath", "newpath", "destinationpath", "absolutepath", "relativepath", "dirpath", "uri", "uris"),
        }
    ),
    "glob": frozenset({"glob", "globs", "filepattern", "filepatterns", "globpattern", "include", "includes"}),
    "command": frozenset({"command", "commands", "cmd", "script", "scripts", "shell", "bash", "code"}),
    "url": frozenset(
        {
            *("url", "urls", "uri", "uris", "href", "link", "links", "endpoint", "address", "website", "webpage"),
            *("targeturl", "baseurl", "pageurl", "imageurl", "downloadurl", "webhook", "webhookurl", "callbackurl"),
            "proxyurl",
        }
    ),
    "sql": frozenset({"sql", "query", "queries", "statement", "statements", "sqlquery", "rawsql", "sqltext", "stmt"}),
}
"""Without what joins their words, in lower case: `filePath`, `file_path` and `File-Path` are one name."""

_ENDS: Mapping[FactKind, frozenset[str]] = {
    "path": frozenset(
        {
            *("path", "paths", "file", "files", "filepath", "filepaths", "filename", "filenames", "directory"),
            *("directories", "dir", "dirs", "folder", "folders", "outfile", "infile", "logfile", "outdir", "basedir"),
        }
    ),
    "glob": frozenset({"glob", "globs"}),
    "command": frozenset({"command", "commands", "cmd", "script"}),
    "url": frozenset({"url", "urls", "uri", "uris", "href", "webhook", "endpoint"}),
    "sql": frozenset({"sql", "query", "statement", "statements"}),
}
_PERHAPS: Mapping[FactKind, frozenset[str]] = {
    "path": frozenset(
        {
            *("output", "out", "input", "from", "to", "into", "root", "base", "location", "saveas", "saveto", "place"),
            *("link", "linkname", "origin", "workspace", "project", "repo", "repository"),
        }
    ),
    "glob": frozenset({"pattern", "patterns", "searchpattern", "namepattern"}),
    "url": frozenset({"proxy", "useproxy", "httpproxy", "httpsproxy"}),
}
_SAYS_SO: Mapping[FactKind, re.Pattern[str]] = {
    "path": re.compile(r"\A(?:[/~\\]|\.\.?(?:[/\\]|\Z)|[A-Za-z]:[\\/]|(?i:file):/|[^\n]*[/\\]\.\.(?:[/\\]|\Z))"),
    # No regular expression for what is searched in files, which `pattern` is as often.
    "glob": re.compile(r"\A(?!.*(?:\.\*|[\\()|^$+]))(?=.*[*?\[{])(?:[/~]|(?:[^/]*/)*\.\.(?:/|\Z))", re.DOTALL),
    "url": re.compile(r"[.:/]"),
}
_MAY_BE_URL = re.compile(r"\A[/\\]{2}|\A(?![/\\]).*[.:]", re.DOTALL)
"""No place on a host that another argument names, and no single word."""
_LEFT_OUT = frozenset({"exclude", "excluded", "ignore", "ignored", "skip", "skipped", "block", "blocked"})
"""What such names begin with that say what is not to be touched."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")


def holds(kind: FactKind, name: str) -> Holding | None:
    """Whether an argument of this name is taken for one that holds a `kind`."""
    return _holds(kind, name) if len(name) <= MAX_NAME_CHARS else None


@lru_cache(maxsize=8192)
def _holds(kind: FactKind, name: str) -> Holding | None:
    words = [word.lower() for word in _WORD.findall(name)]
    if "".join(words) in SURE[kind]:
        return "sure"
    if "".join(words) in _PERHAPS.get(kind, ()):
        return "perhaps"
    if len(words) > 1 and words[-1].isdigit():
        words.pop()
    if words and (words[-1] in _ENDS[kind] or "".join(words) in _ENDS[kind]) and words[0] not in _LEFT_OUT:
        return "likely"
    return None


def may_be(kind: FactKind, holding: Holding, value: object) -> bool:
    """Whether what was given under such a name is taken for a `kind`: no number, no yes or no, and not nothing."""
    if holding == "sure":
        return True
    if isinstance(value, list | tuple):
        return all(may_be(kind, holding, one) for one in value[:MAX_LISTED])
    if not isinstance(value, str) or value == "":
        return False
    if holding == "likely":
        return kind != "url" or bool(_MAY_BE_URL.match(value))
    return len(value) <= MAX_CHARS and bool(_SAYS_SO[kind].search(value))
