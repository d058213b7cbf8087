"""A process that looks at small policies and evaluates them as the gateway's workers do; it may be killed.

Started as a script. Each line of standard input is one request, each line of standard output its answer, in order:
what the checks at load say, and for each input what came of the rule. Nothing is caught that a worker does not catch:
what loops or ends the process does it to this one.
"""

import json
import re
import sys
from typing import Any

from interlock_gateway.policy.bundle import make_bundle
from interlock_gateway.policy.checks.checker import check_bundle
from interlock_gateway.policy.checks.syntax import RegoFile, parse
from interlock_gateway.policy.embedded import worker
from interlock_gateway.policy.embedded.linking import link
from interlock_gateway.policy.embedded.wire import pack
from interlock_gateway.policy.settings import PolicySourceError

UNDEFINED = '"<undefined>"'
_NO_RULE = "not a valid rule path"


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """`problems` and `calls` of the policies, and `outcomes`, one for each input.

    An outcome is {"values": [...]} (none when undefined), or {"failed": how, "words": ...}.
    """
    bundle = make_bundle(request["modules"], request["data"], profile="standard")
    checked = make_bundle({**request["modules"], **request["checked_too"]}, request["data"], profile="standard")
    problems = check_bundle(checked, {}, safety_only=True)
    answered: dict[str, Any] = {
        "problems": [[problem.file, problem.line, problem.code, problem.message] for problem in problems],
        "calls": sorted({call for _, source in checked.modules for call in _calls(source)}),
    }
    if not request["evaluate"] or (problems and not request["refused_too"]):
        return {**answered, "outcomes": []}
    try:
        linked = link(bundle.modules)
        payload = pack([bundle.data_json, *(text for one in linked for text in (one.package, one.source))])
        engine = worker.build(payload)
    except (RuntimeError, ValueError, PolicySourceError) as error:
        return {**answered, "outcomes": [_failed("error", error)] * len(request["inputs"])}
    outcomes = [_outcome(engine, request, document) for document in request["inputs"]]
    return {**answered, "outcomes": outcomes}


def _outcome(engine: Any, request: dict[str, Any], document: str | None) -> dict[str, Any]:
    try:
        if request["input_term"]:
            found = engine.eval_query_as_json(request["input_term"])
            document = json.dumps(json.loads(found)["result"][0]["expressions"][0]["value"])
        if document is not None:
            engine.set_input_json(document)
        return {"values": _values(engine, request)}
    except (RuntimeError, ValueError) as error:
        return _failed("error", error)
    except BaseException as error:  # noqa: BLE001 - the engine panics as a BaseException
        return _failed("panic", error)


def _values(engine: Any, request: dict[str, Any]) -> list[Any]:
    """The rule's value, or, where OPA is asked something that the gateway never asks, the query's bindings."""
    if request["rule"]:
        try:
            value = engine.eval_rule_as_json(request["rule"])
            return [] if value == UNDEFINED else [json.loads(value)]
        except RuntimeError as error:
            if _NO_RULE not in str(error) or not request["query"]:
                raise
    answered = json.loads(engine.eval_query_as_json(request["query"]))
    return [{"bindings": found.get("bindings", {})} for found in answered.get("result", [])]


def _failed(how: str, error: BaseException) -> dict[str, Any]:
    return {"failed": how, "words": worker.words(error).decode("utf-8", "replace")}


def _calls(source: str) -> set[str]:
    """The names that a module calls; for one that cannot be read, everything that looks like a call."""
    file = parse("called.rego", source)
    if isinstance(file, RegoFile):
        return {str(call) for call in file.calls}
    return set(re.findall(r"(?<![\w.])[a-z_][\w.]*(?=\()", source))


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()
