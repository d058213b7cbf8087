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
from interlock_gateway.policy.embedded.linking import LinkedModule, link, relocate
from interlock_gateway.policy.engine import PolicyUnavailableError

ROOT = "interlock_pushed"
INDEX = "interlock_pushed_index"
_MARK = "pushed_module"
_ENTRY = "pushed_entry"
_ABOUT = "pushed_policy"
# Raised when the same bundle is moved to other sources than before.
_FORMAT = "1"
_TOKEN = re.compile(
    r"""(?P<other>"(?:\\.|[^"\\\n])*"|`[^`]*`|\#[^\n]*|[A-Za-z_][A-Za-z0-9_]*)""",
)


@dataclass(frozen=True, slots=True)
class PlacedPolicies:
    """A bundle as it lies in OPA, one module for each package.

    `modules` and `entry` are (id, source), `data` is the document at `data_path`. `path` is what is asked: an object
    with `decision`, and with `policy` only if all of it is there. `policy` is whose decision it then is.
    """

    name: str
    policy: ActivePolicy
    linked: tuple[LinkedModule, ...]
    modules: tuple[tuple[str, str], ...]
    entry: tuple[str, str]
    data: JsonObject

    @property
    def path(self) -> str:
        """The path of what is asked."""
        return f"{self.data_path}/{_ENTRY}/answer"

    @property
    def policy_path(self) -> str:
        """The path of its `policy` alone."""
        return f"{self.path}/policy"

    @property
    def data_path(self) -> str:
        """The path of its data, and of everything else."""
        return f"{ROOT}/{self.name}"

    @property
    def ids(self) -> list[str]:
        """The ids of its modules in OPA."""
        return [name for name, _ in (*self.modules, self.entry)]

    def relocated(self, words: str) -> str:
        """What OPA says about modules, with the files and lines that they came from."""
        for (name, _), module in zip(self.modules, self.linked, strict=True):
            words = words.replace(f"{name}:", f"{module.package}:")
        return relocate(words.replace(f"{ROOT}.{self.name}.", ""), self.linked)


def place(bundle: PolicyBundle) -> PlacedPolicies:
    """`bundle` in its place.

    Raises `PolicySourceError` for modules that cannot be joined, and `PolicyUnavailableError` for those that cannot
    be moved.
    """
    linked = link(bundle.modules)
    name = _name_of(bundle, linked)
    space = f"{ROOT}.{name}"
    marks = {module.package: f"{name}:{number}" for number, module in enumerate(linked)}
    placed = tuple(
        (_id(name, f"{number:03d}"), _marked(moved(module.package, module.source, space), marks[module.package]))
        for number, module in enumerate(linked)
    )
    tree: JsonObject = json.loads(bundle.data_json)
    data: JsonObject = {**tree, _ABOUT: dict(bundle.policy._asdict())}
    return PlacedPolicies(name, bundle.policy, linked, placed, (_id(name, "entry"), _entry(space, marks)), data)


def _marked(source: str, mark: str) -> str:
    """The module, which now says that it is there. At its end: no line moves."""
    return f'{source}\n{_MARK} := "{mark}"\n'


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


def _entry(space: str, marks: dict[str, str]) -> str:
    """The module that is asked: the decision, and whether all of the bundle is there, in one evaluation."""
    whole = [f'\tdata.{space}.{package}.{_MARK} == "{mark}"' for package, mark in sorted(marks.items())]
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


def _id(name: str, part: str) -> str:
    return f"interlock/{name}/{part}"


def _name_of(bundle: PolicyBundle, modules: tuple[LinkedModule, ...]) -> str:
    digest = hashlib.sha256()
    texts = (_FORMAT, *bundle.policy[:2], str(bundle.enforced), bundle.data_json)
    for text in (*texts, *(part for module in modules for part in (module.package, module.source))):
        encoded = text.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return f"r{digest.hexdigest()[:24]}"
