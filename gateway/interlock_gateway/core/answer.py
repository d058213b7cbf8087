"""What a policy engine gives back for one input: the document, and which policy said it (policy.md, Engines)."""

from typing import NamedTuple


class ActivePolicy(NamedTuple):
    """The policy that decides: its revision, its profile, and whether the profile's verdicts bind (POL-5)."""

    revision: str
    profile: str
    enforced: bool = True


class PolicyAnswer(NamedTuple):
    """The decision document's JSON, and the policy that it came from, whatever replaced that meanwhile (LIFE-3)."""

    document: bytes
    policy: ActivePolicy
