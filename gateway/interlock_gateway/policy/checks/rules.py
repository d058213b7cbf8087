"""What a rule that contributes findings must be: described, tested, and found by its place (POL-1)."""

import re
from collections.abc import Iterator
from typing import Any

from interlock_gateway.policy.checks import obligations
from interlock_gateway.policy.checks.metadata import metadata_above
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.checks.program import CUSTOM, Program, contributes, holds_findings
from interlock_gateway.policy.checks.syntax import RegoFile, Rule, literal

VERDICTS = ("allow", "preview", "checkpoint", "reflect", "deny", "none")
_CODE = re.compile(r"[a-z][a-z0-9_]*")


def check_described(program: Program) -> Iterator[Problem]:
    """Each finding's rule has METADATA with a title and a description."""
    for file, rule in _finding_rules(program):
        metadata = metadata_above(file.source, rule.line)
        if metadata is None:
            yield Problem(file.path, rule.line, "metadata_missing", "the rule has no METADATA above it")
            continue
        for name in ("title", "description"):
            if not str(metadata.get(name) or "").strip():
                yield Problem(file.path, rule.line, "metadata_missing", f"the rule's METADATA has no {name}")


def check_tested(program: Program) -> Iterator[Problem]:
    """Each file with findings has its test beside it."""
    for file in program.files:
        wanted = file.path.removesuffix(".rego") + "_test.rego"
        if any(contributes(file, rule) for rule in file.rules) and wanted not in program.tests:
            yield Problem(file.path, 1, "test_missing", f"the rule has no test; it belongs in {wanted}")


def check_findings(program: Program) -> Iterator[Problem]:
    """Each finding has the fields of one, a known verdict, and the rule's own name."""
    for file, rule in _finding_rules(program):
        yield from _check_finding(file, rule)


def check_names(program: Program) -> Iterator[Problem]:
    """A name is defined in one file of its package; otherwise two rules would quietly become one."""
    first: dict[tuple[str, ...], str] = {}
    for file in program.files:
        for rule in file.rules:
            name = (*file.package, rule.name)
            other = first.setdefault(name, file.path)
            if other != file.path and not holds_findings(rule.name):
                message = f"{rule.name} is defined in {other} too; names are shared by all files of a package"
                yield Problem(file.path, rule.line, "name_taken", message)


def _finding_rules(program: Program) -> Iterator[tuple[RegoFile, Rule]]:
    for file in program.files:
        for rule in file.rules:
            if contributes(file, rule):
                yield file, rule


def _check_finding(file: RegoFile, rule: Rule) -> Iterator[Problem]:
    head = rule.node.get("Spec", {}).get("head", {}).get("Set")
    if head is None:
        yield Problem(file.path, rule.line, "finding_shape", "write `findings contains {...} if {...}`")
        return
    if "Object" not in head["key"]:
        yield Problem(file.path, rule.line, "finding_shape", "write the finding out as an object after `contains`")
        return
    fields = {literal(key): value for _, key, value in head["key"]["Object"]["fields"]}
    fields = fields or {}
    yield from (Problem(file.path, rule.line, "finding_shape", message) for message in _complaints(file, fields))


def _complaints(file: RegoFile, fields: dict[Any, Any]) -> Iterator[str]:
    verdict = literal(fields.get("verdict"))
    if "verdict" not in fields:
        yield "the finding has no verdict"
    elif verdict is not NotImplemented and verdict not in VERDICTS:
        yield f"{verdict!r} is no verdict; these are {', '.join(VERDICTS)}"
    for name in ("code", "message") if verdict != "none" else ():
        if name not in fields:
            yield f"the finding has no {name}"
    code = literal(fields.get("code"))
    if isinstance(code, str) and not _CODE.fullmatch(code):
        yield f"the code {code!r} is not in lower case with underscores"
    for name in ("message", "note"):
        if not isinstance(literal(fields.get(name)), str) and literal(fields.get(name)) is not NotImplemented:
            yield f"the finding's {name} is no text"
    if "obligations" in fields:
        yield from obligations.complaints(fields["obligations"])
    expected = expected_rule_name(file)
    if literal(fields.get("rule")) != expected:
        yield f'the finding\'s rule must be "{expected}", after its place'


def expected_rule_name(file: RegoFile) -> str:
    """What findings of a file say their rule is: `concern/rule` for shipped rules, `custom/rule` for an operator's."""
    parts = file.path.removesuffix(".rego").split("/")
    if file.package[:2] == CUSTOM:
        return "/".join(parts[parts.index("custom") :]) if "custom" in parts else f"custom/{parts[-1]}"
    return "/".join(parts[parts.index("rules") + 1 :]) if "rules" in parts else parts[-1]
