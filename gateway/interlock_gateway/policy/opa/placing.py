"""Policies under a place of their own in OPA, so that those of two revisions can lie there side by side.

OPA takes modules one by one. Under their own names each would be in force at once, among those of another revision.
So everything a bundle has is moved below `data.interlock_pushed.<place>`, references and all, and the gateway asks
there. The place is named by the content: what lies there is this bundle, part of it, or nothing. Which of these is
answered together with each decision: every module says that it is there, and the data comes last.
"""

import hashlib
import json
import re
from dataclasses import dataclass

from interlock_gateway.core.answer import ActivePolicy
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.embedded.linking import link
from interlock_gateway.policy.engine import PolicyUnavailableError

ROOT = "interlock_pushed"
INDEX = "interlock_pushed_index"
_MARK = "pushed_modules"
_ENTRY = "pushed_entry"
_ABOUT = "pushed_policy"
# Raised when the same bundle is moved to other sources than before.
_FORMAT = "1"
_TOKEN = re.compile(
    r"""(?P<other>"(?:\\.|[^"\\\n])*"|`[^`]*`|\#[^\n]*|[A-Za-z_][A-Za-z0-9_]*)""",
)


@dataclass(frozen=True, slots=True)
class PlacedPolicies:
    """A bundle as it lies in OPA: `modules` and `entry` are (id, source), `data` is the document at `data_path`.

    `path` is what is asked: an object with `decision`, and with `policy` only if all of it is there. `policy` is whose
    decision it then is.
    """

    name: str
    policy: ActivePolicy
    modules: tuple[tuple[str, str], ...]
    entry: tuple[str, str]
    data: JsonObject

    @property
    def path(self) -> str:
        """The path of what is asked."""
        return f"{self.data_path}/{_ENTRY}/answer"

    @property
    def data_path(self) -> str:
        """The path of its data, and of everything else."""
        return f"{ROOT}/{self.name}"

    @property
    def ids(self) -> list[str]:
        """The ids of its modules in OPA."""
        return [name for name, _ in (*self.modules, self.entry)]


def place(bundle: PolicyBundle, *, by_package: bool = True) -> PlacedPolicies:
    """`bundle` in its place, its modules joined by package or as they are.

    Raises `PolicySourceError` for modules that cannot be joined, and `PolicyUnavailableError` for those that cannot
    be moved.
    """
    if by_package:
        modules = [(linked.package, linked.package, linked.source) for linked in link(bundle.modules)]
    else:
        modules = [(_package(path, source), path, source) for path, source in bundle.modules]
    name = _name_of(bundle, modules)
    space = f"{ROOT}.{name}"
    marks: dict[str, set[str]] = {}
    placed = []
    for number, (package, path, source) in enumerate(modules):
        mark = f"{name}:{number}"
        marks.setdefault(package, set()).add(mark)
        placed.append((_id(name, f"{number:03d}"), f'{moved(path, source, space)}\n{_MARK} contains "{mark}"\n'))
    tree: JsonObject = json.loads(bundle.data_json)
    data: JsonObject = {**tree, _ABOUT: dict(bundle.policy._asdict())}
    return PlacedPolicies(name, bundle.policy, tuple(placed), (_id(name, "entry"), _entry(space, marks)), data)


def moved(path: str, source: str, space: str) -> str:
    """The module with its package and every reference to `data` below `data.<space>`, line for line."""
    out, at, in_package = [], 0, False
    for token in _TOKEN.finditer(source):
        text, before = token[0], source[at : token.start()]
        out.append(before)
        at = token.end()
        if before.endswith("$") and text[0] in '"`':
            raise PolicyUnavailableError(f"{path}: a template string cannot be given to OPA")
        if in_package:
            text, in_package = f"{space}.{text}", False
        elif text == "data" and not before.endswith("."):
            text = f"data.{space}"
        elif text == "package" and not before.rpartition("\n")[2].strip() and not before.endswith("."):
            in_package = True
        out.append(text)
    return "".join((*out, source[at:]))


def _entry(space: str, marks: dict[str, set[str]]) -> str:
    """The module that is asked: the decision, and whether all of the bundle is there, in one evaluation."""
    whole = [f"\tdata.{space}.{package}.{_MARK} == {_set_of(found)}" for package, found in sorted(marks.items())]
    return "\n".join(
        (
            f"package {space}.{_ENTRY}",
            "",
            f'answer["decision"] := data.{space}.interlock.decision',
            "",
            f'answer["policy"] := data.{space}.{_ABOUT} if {{',
            *whole,
            "}",
            "",
        )
    )


def _set_of(marks: set[str]) -> str:
    return "{" + ", ".join(f'"{mark}"' for mark in sorted(marks)) + "}"


def _id(name: str, part: str) -> str:
    return f"interlock/{name}/{part}"


def _package(path: str, source: str) -> str:
    return link([(path, source)])[0].package


def _name_of(bundle: PolicyBundle, modules: list[tuple[str, str, str]]) -> str:
    digest = hashlib.sha256()
    texts = (_FORMAT, *bundle.policy[:2], str(bundle.enforced), bundle.data_json)
    for text in (*texts, *(part for module in modules for part in module)):
        encoded = text.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return f"r{digest.hexdigest()[:24]}"
