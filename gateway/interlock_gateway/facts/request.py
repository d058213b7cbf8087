"""What an extractor is given."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FactRequest:
    """One call as an extractor sees it (PIPE-5).

    `argument_names` is the operator's configuration: the names of the arguments that hold a "path", "glob", "command",
    "url" or "sql", and under "dialect" the one of its SQL. `workdir` is the call's, empty for the provider's own;
    `roots` are the session's absolute workspace roots, and `within` the operator's: a root of the session that leads
    out of those counts for nothing (REF-4).
    """

    permission_class: str
    tool: str
    input: Mapping[str, object]
    input_schema: Mapping[str, object]
    argument_names: Mapping[str, tuple[str, ...]]
    workdir: str
    roots: tuple[str, ...]
    within: tuple[str, ...]
