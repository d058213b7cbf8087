"""Receipts to replay, as the gateway writes them: calls of a working day, decided by the shipped policies, signed."""

import json
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

import regorus
from interlock_gateway.audit.chain import Chain
from interlock_gateway.audit.keys import load_or_create
from interlock_gateway.audit.masking import encode_members
from interlock_gateway.audit.receipt import ReceiptFacts, ReceiptKind, build_receipt
from interlock_gateway.clock import SystemClock
from interlock_gateway.core.answer import ActivePolicy
from interlock_gateway.core.call import CallStatus
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.pipeline.policy_result import read_decision
from interlock_gateway.policy.bundle import DECISION_RULE, PolicyBundle
from interlock_gateway.policy.cases import CaseFile, document_of
from interlock_gateway.policy.embedded.linking import link
from interlock_gateway.results.redaction import Redactor

READ = {"name": "search", "metadata": {"read_only": True}}
FILE = {"name": "read_file", "metadata": {"read_only": True, "permission_class": "file"}}
FILE["input_schema"] = {"type": "object", "properties": {"path": {"type": "string", "format": "path"}}}
EDIT = {"name": "edit", "metadata": {"read_only": False}, "capability": {"dry_run": True, "min_confidence": 50}}
NOTE = {"name": "note", "metadata": {"read_only": False}, "capability": {"reversible": True}}
SHELL = {"name": "bash", "metadata": {"destructive": True, "open_world": True, "permission_class": "bash"}}
TEXT = "the quick brown fox jumps over the lazy dog; " * 22

PLAIN = [(READ, {"text": TEXT})]
DAY = [
    *[(READ, {"query": TEXT[:300], "limit": number}) for number in range(8)],
    *[(FILE, {"path": f"src/module_{number}.py"}) for number in range(5)],
    (FILE, {"path": "../outside.txt"}),
    (FILE, {"path": ".env"}),
    *[(EDIT, {"path": "notes.txt", "text": TEXT[:500], "_flyto_confidence": 40 + 20 * n}) for n in range(3)],
    *[(NOTE, {"title": "a title", "text": TEXT[:700]}) for _ in range(3)],
    (SHELL, {"command": "ls -la src"}),
    (SHELL, {"command": "cat README.md | head -n 20"}),
    (SHELL, {"command": "git status"}),
    (SHELL, {"command": "rm -rf build"}),
]
Calls = Sequence[tuple[dict[str, object], dict[str, object]]]
_AT_ONCE = 500


def write_receipts(directory: Path, bundle: PolicyBundle, calls: Calls, count: int) -> None:
    """Write `count` receipts of these calls, in turn, as decided by `bundle`, into a log in `directory`."""
    made = [_members(bundle, number, tool, given) for number, (tool, given) in enumerate(calls)]
    key = load_or_create(directory / "key.pem")
    chain = Chain(directory / "audit", key, SystemClock(), 64 * 1024 * 1024)
    records = islice(cycle(made), count)
    while batch := list(islice(records, _AT_ONCE)):
        chain.append(batch)
    chain.close()


def _members(bundle: PolicyBundle, number: int, tool: dict[str, object], given: dict[str, object]) -> bytes:
    file = CaseFile.model_validate(
        {
            "tool": tool,
            "call": {"input": given},
            "principal": {"id": f"agent-{number % 4}"},
            "session": {"counters": {"calls": 12, "calls_by_tool": {"search": 7, "read_file": 5}}},
            "expect": {"verdict": "allow"},
        }
    )
    document = json.dumps(document_of(file), ensure_ascii=False, separators=(",", ":")).encode()
    policy = ActivePolicy(bundle.revision, bundle.profile)
    decision = read_decision(_decide(bundle, document), decision_id=f"decision-{number}", policy=policy)
    facts = ReceiptFacts(
        kind=ReceiptKind.RECEIPT,
        time=1_780_000_000.0 + number,
        principal=Principal(f"agent-{number % 4}", "token", frozenset({Role.AGENT})),
        session_id=f"session-{number % 3}",
        call_id=f"call-{number}",
        tool=str(tool["name"]),
        decision=decision,
        provider="toolbox",
        pin="ab" * 32,
        digest="cd" * 32,
        effect="read_only",
        audit_operation="read",
        policy_input=document,
        call_input=json.dumps(given).encode(),
        status=CallStatus.COMPLETED,
        durations={"decide": 0.0003, "total": 0.001, "dispatch": 0.0005},
        replica="replica-1",
    )
    return encode_members(build_receipt(facts), Redactor())


def _decide(bundle: PolicyBundle, document: bytes) -> bytes:
    engine = regorus.Engine()
    for module in link(bundle.modules):
        engine.add_policy(module.package, module.source)
    engine.add_data_json(bundle.data_json)
    engine.set_input_json(document.decode())
    return str(engine.eval_rule_as_json(DECISION_RULE)).encode()
