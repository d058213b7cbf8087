"""The declared subset of Rego: what OPA's own cases say that the embedded engine can do (CON-3, ENG-5).

A built-in function is declared when it depends on nothing but its arguments, and every case of OPA's that calls it
passes. Cases that are refused at load for a construct beside the function say nothing about the function.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

from case_judging import JudgedCase, Verdict
from opa_cases import opa_version
from policy_runs import PolicyRequest, run_policies

ENGINE = "gordon-to-regorus"
REFUSED_BUILTIN = "builtin_refused"

# Why a function may not be used even if every case of it passes.
IMPURE = {
    "http.send": "reaches the network",
    "net.lookup_ip_addr": "reaches the network",
    "opa.runtime": "reads the environment",
    "time.now_ns": "reads the clock",
    "io.jwt.decode_verify": "reads the clock",
    "crypto.x509.parse_and_verify_certificates": "reads the clock",
    "crypto.x509.parse_and_verify_certificates_with_options": "reads the clock",
    "providers.aws.sign_req": "signs requests, which only http.send sends",
    "rand.intn": "is random",
    "uuid.rfc4122": "is random",
    "io.jwt.encode_sign": "is random with some keys, and keys have no place in policies",
    "io.jwt.encode_sign_raw": "is random with some keys, and keys have no place in policies",
    "trace": "speaks outside the decision",
    "print": "speaks outside the decision",
    "internal.print": "is OPA's own",
    "internal.template_string": "is OPA's own",
    "internal.test_case": "is OPA's own",
    "rego.metadata.chain": "tells of OPA's own reading of a policy",
    "rego.metadata.rule": "tells of OPA's own reading of a policy",
    "rego.parse_module": "reads policies, not calls",
}

# What the two engines were seen to answer differently, although OPA's cases do not show it.
DIFFERS = {
    "base64.is_valid": "takes no line breaks, which OPA does",
    "base64url.decode": "refuses what OPA decodes",
    "glob.quote_meta": "leaves brackets as they are, which OPA quotes",
    "json.filter": "looks into what is no object or array",
    "json.marshal": "writes <, >, & and 1.0 in another way than OPA",
    "json.marshal_with_options": "writes <, >, & and 1.0 in another way than OPA",
    "json.patch": "is undefined where OPA has an error",
    "json.remove": "looks into what is no object or array",
    "object.subset": "panics with empty arrays",
    "regex.is_valid": "takes other expressions for valid than OPA",
    "regex.replace": "is undefined for expressions that OPA takes for valid",
    "regex.template_match": "is false where OPA has an error",
    "time.add_date": "counts days of months in another way than OPA",
    "time.format": "writes fractions of a second in another way than OPA",
    "time.parse_ns": "panics with some layouts",
    "units.parse": "takes very long with great exponents",
    "units.parse_bytes": "takes very long with great exponents",
    "upper": "writes some letters as two, which OPA leaves",
    "urlquery.decode": "drops what it takes for empty",
    "urlquery.decode_object": "reads with the same parts as urlquery.decode",
    "urlquery.encode": "leaves * as it is, which OPA encodes",
    "urlquery.encode_object": "leaves * as it is, which OPA encodes",
    "yaml.marshal": "writes lists with another indentation than OPA",
}

# Cases of the subset that are not asked of the embedded engine, by name, and why.
LEFT_OUT = {
    "inputvalues/input set": "its input is a set; a call's input is JSON, which has none",
}


def derived(
    judged: Iterable[JudgedCase], declarations: Mapping[str, Mapping[str, Any]], missing: frozenset[str]
) -> dict[str, Any]:
    """The subset file's content: figures, and for each built-in function and group of cases what came of them.

    `missing` are the functions that the embedded engine does not have.
    """
    cases = tuple(judged)
    builtins = {name: _builtin(name, cases, entry, missing) for name, entry in sorted(declarations.items())}
    declared = frozenset(name for name, found in builtins.items() if found["declared"])
    outside = {case.case.name: reasons for case in cases if (reasons := refusals(case, declared, declarations.keys()))}
    groups: dict[str, list[JudgedCase]] = defaultdict(list)
    for case in cases:
        groups[case.case.group].append(case)
    inside = [case for case in cases if case.case.name not in outside and case.case.name not in LEFT_OUT]
    return {
        "opa": opa_version(),
        "engine": f"{ENGINE} {version(ENGINE)}",
        "cases": {
            "all": len(cases),
            "refused_at_load": len(outside),
            "left_out": len(LEFT_OUT),
            "in_the_subset": len(inside),
            "passed": sum(case.verdict is not Verdict.FAILED for case in inside),
            "passed_as_opa_asked_strictly": sum(case.verdict is Verdict.STRICT for case in inside),
        },
        "left_out": LEFT_OUT,
        "builtins": builtins,
        "groups": {name: _group(found, outside) for name, found in sorted(groups.items())},
    }


def refusals(case: JudgedCase, declared: frozenset[str], known: Iterable[str]) -> list[str]:
    """Why a case is refused at load: the constructs, and the functions that are not declared."""
    constructs = [code for _, _, code, _ in case.problems if code != REFUSED_BUILTIN]
    return [*constructs, *sorted(case.calls & (frozenset(known) - declared))]


def missing_builtins(names: Iterable[str]) -> frozenset[str]:
    """Those of OPA's built-in functions that the embedded engine does not have."""
    asked = sorted(names)
    requests = (
        PolicyRequest({"a.rego": f"package a\n\np := {name}()\n"}, "data.a.p", refused_too=True) for name in asked
    )
    outcomes = run_policies(requests)
    return frozenset(
        name
        for name, outcome in zip(asked, outcomes, strict=True)
        if "could not find function" in outcome.outcomes[0].get("words", "")
    )


def written(subset: Mapping[str, Any]) -> str:
    """The file: one line for each entry, so that a change can be read."""
    lines = ["{"]
    for position, (key, value) in enumerate(subset.items()):
        last = "" if position == len(subset) - 1 else ","
        if isinstance(value, dict) and any(isinstance(entry, dict) for entry in value.values()):
            entries = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in value.items()]
            lines += [f" {json.dumps(key)}: {{", ",\n".join(entries), f" }}{last}"]
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}{last}")
    return "\n".join([*lines, "}"]) + "\n"


def _builtin(
    name: str, cases: Iterable[JudgedCase], entry: Mapping[str, Any], missing: frozenset[str]
) -> dict[str, Any]:
    calling = [case for case in cases if name in case.calls and case.case.name not in LEFT_OUT]
    asked = [case for case in calling if all(code == REFUSED_BUILTIN for _, _, code, _ in case.problems)]
    failed = [case for case in asked if case.verdict is Verdict.FAILED]
    found: dict[str, Any] = {"cases": len(calling), "asked": len(asked), "passed": len(asked) - len(failed)}
    signature = {
        "takes": [_kinds(argument) for argument in entry["decl"].get("args", ())],
        "gives": _kinds(entry["decl"].get("result", {"type": "any"})),
    }
    why = IMPURE.get(name) or DIFFERS.get(name) or ("is not deterministic" if entry.get("nondeterministic") else "")
    if not why and name in missing:
        why = "is not in the embedded engine"
    elif not why and failed:
        why = f"fails in {failed[0].case.name}: {' '.join(failed[0].words.split())[:120]}"
    elif not why and not any(case.case.wanted for case in asked):
        why = "has no case of OPA's that shows it to work"
    return {**found, "declared": not why, **({"why": why} if why else signature)}


def _kinds(declared: Mapping[str, Any]) -> list[str]:
    """The kinds of values of a declared type; none for any."""
    if declared["type"] == "any":
        parts = [_kinds(part) for part in declared.get("of", ())]
        return sorted({kind for part in parts for kind in part}) if parts and all(parts) else []
    return [declared["type"]]


def _group(cases: Iterable[JudgedCase], outside: Mapping[str, list[str]]) -> dict[str, Any]:
    found = list(cases)
    refused = [outside[case.case.name] for case in found if case.case.name in outside]
    inside = [case for case in found if case.case.name not in outside and case.case.name not in LEFT_OUT]
    return {
        "cases": len(found),
        "in_the_subset": len(inside),
        "passed": sum(case.verdict is not Verdict.FAILED for case in inside),
        "refused_for": dict(sorted(Counter(reason for reasons in refused for reason in set(reasons)).items())),
    }
