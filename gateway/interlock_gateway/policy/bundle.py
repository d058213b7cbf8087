"""A set of policies ready to be evaluated: sources, data, and the revision that names them."""

import hashlib
import json
from dataclasses import dataclass

from interlock_gateway.core.answer import ActivePolicy
from interlock_gateway.core.jsonvalue import JsonObject

DECISION_RULE = "data.interlock.decision"
TEST_SUFFIX = "_test.rego"
REVISION_LENGTH = 16


@dataclass(frozen=True, slots=True)
class PolicyBundle:
    """Policies as one value; two bundles with the same `revision` decide alike.

    `modules` are (path, Rego source) pairs sorted by path; `data_json` is the data document with the profile's
    settings in place; `revision` is the short SHA-256 of both; `profile` names the active profile and `enforced` says
    whether its verdicts bind (POL-5). `tests` are the `_test.rego` files, which decide nothing.
    """

    modules: tuple[tuple[str, str], ...]
    data_json: str
    revision: str
    profile: str
    enforced: bool = True
    tests: tuple[tuple[str, str], ...] = ()

    @property
    def policy(self) -> ActivePolicy:
        """What names it in a decision."""
        return ActivePolicy(self.revision, self.profile, self.enforced)


def make_bundle(sources: dict[str, str], data: JsonObject, *, profile: str, enforced: bool = True) -> PolicyBundle:
    """The bundle of these files and this data; its revision changes with any byte that can change a decision."""
    pairs = tuple(sorted((path, source) for path, source in sources.items() if not path.endswith(TEST_SUFFIX)))
    tests = tuple(sorted((path, source) for path, source in sources.items() if path.endswith(TEST_SUFFIX)))
    data_json = json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return PolicyBundle(pairs, data_json, _revision(pairs, data_json), profile, enforced, tests)


def _revision(pairs: tuple[tuple[str, str], ...], data_json: str) -> str:
    digest = hashlib.sha256()
    for text in (*(part for pair in pairs for part in pair), data_json):
        encoded = text.encode()
        # The length keeps two neighbouring texts from being read as two others.
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()[:REVISION_LENGTH]
