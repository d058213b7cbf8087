"""One decision in the embedded engine's own time, without the way to its process and back (PERF-4)."""

import argparse
import json
import shutil
import statistics
import time

import regorus
import uvloop
from interlock_gateway.core.recent import PrincipalCalls
from interlock_gateway.policy.bundle import DECISION_RULE
from interlock_gateway.policy.embedded.engine import EmbeddedEngine
from interlock_gateway.policy.embedded.prepared import prepared
from interlock_gateway.policy.loader import load_bundle

ROUNDS = 2000


def _input(size: int, *, previous: int = 0) -> str:
    before = ",".join(['{"tool":"echo","effect":"read_only","labels":{}}'] * previous)
    arguments = json.dumps({"text": "x" * size})
    session = '{"id":"s","intent":"","labels":{},"age_s":1,"counters":{"calls":3,"destructive_calls":0,"denials":{},'
    session += f'"calls_by_tool":{{"echo":3}}}},"previous":[{before}],"taints":[],'
    session += '"pending":{"count":0,"mode":"steer"}}'
    call = f'{{"id":"c","kind":"call","phase":"call","input_bytes":{len(arguments)},"digest":"d","deliverable":null,'
    call += '"facts":{"class":"","extracted":true},"confidence_field":"_flyto_confidence","checkpoint":null,'
    call += '"labels":{},"intent":"","workdir":"","time":"2026-01-01T00:00:00+00:00","time_unix_s":1767225600,'
    call += f'"input":{arguments}}}'
    tool = '{"name":"echo","provider":"echo","declared":true,"effect":"read_only","safety_level":0,"open_world":false,'
    tool += '"external_effect":false,"audit_operation":"invoke","metadata":{"read_only":true,"permission_class":"",'
    tool += '"requires_checkpoint":false,"requires_reverse_thinking":false,"concurrency_safe":true,"destructive":false,'
    tool += '"open_world":false},"capability":{},"pin_state":"pinned"}'
    principal = '{"id":"a","kind":"unix","roles":["agent"],"groups":[],"claims":{},"recent":'
    lately = '{"minute":3,"hour":3,"day":3}'
    principal += f'{{"tool":{lately},"all":{lately},"destructive":{lately}}}}}'
    gateway = '{"replica":"r","mode":"standard","revision":"x"}'
    return (
        f'{{"version":1,"principal":{principal},"session":{session},"call":{call},"tool":{tool},"gateway":{gateway}}}'
    )


RULE = """
findings contains {{
	"verdict": "checkpoint",
	"code": "asked",
	"message": "a person has to say that this can be done",
	"rule": "custom/many",
}} if {{
	input.tool.name == "tool-{number}"
	input.session.labels.env == "production"
}}
"""


def _engine(*, more_settings: int = 0, more_rules: int = 0) -> "regorus.Engine":
    bundle = load_bundle()
    own = "package interlock.custom\n" + "".join(RULE.format(number=number) for number in range(more_rules))
    data = json.loads(bundle.data_json)
    data["interlock"]["settings"]["padding"] = {f"entry-{n}": {"value": n} for n in range(more_settings)}
    engine = regorus.Engine()
    engine.set_rego_v0(False)
    modules = (*bundle.modules, *([("house/custom/many.rego", own)] if more_rules else []))
    for module in prepared(modules, json.dumps(data)):
        engine.add_policy(module.package, module.source)
    engine.add_data_json(json.dumps(data))
    return engine


def _timed(what: str, engine: "regorus.Engine", document: str, rounds: int) -> dict[str, object]:
    taken, used = [], []
    for _ in range(rounds):
        began, before = time.perf_counter(), time.thread_time()
        engine.set_input_json(document)
        answer = engine.eval_rule_as_json(DECISION_RULE)
        used.append((time.thread_time() - before) * 1e6)
        taken.append((time.perf_counter() - began) * 1e6)
    if json.loads(answer)["verdict"] != "allow":
        raise RuntimeError(f"the decision that was to be measured is not allow: {answer}")
    return {
        "what": what,
        "p50_us": statistics.median(taken),
        "p99_us": statistics.quantiles(taken, n=100)[98],
        # Of the processor, and of the best round: what other processes do on this machine is not in it.
        "least_us": min(used),
    }


async def decision_figures(rounds: int = ROUNDS) -> list[dict[str, object]]:
    """Decisions with growing inputs, settings and rules, and the way through a worker process."""
    plain = _engine()
    small = _input(1_000)
    figures = [_timed("input of 1 KB", plain, small, rounds)]
    figures.append(_timed("input of 1 KB, in a session of 50 calls", plain, _input(1_000, previous=50), rounds))
    for size, share in ((32_000, 4), (256_000, 20), (1_000_000, 40)):
        figures.append(_timed(f"input of {size // 1000} KB", plain, _input(size), max(rounds // share, 2)))
    figures.append(_timed("input of 1 KB, 10,000 more settings entries", _engine(more_settings=10_000), small, rounds))
    figures.append(
        _timed("input of 1 KB, 1,000 more rules of an operator", _engine(more_rules=1_000), small, max(rounds // 8, 2))
    )
    figures.append(_counting(rounds))
    figures.append(await _through_worker(small.encode(), rounds))
    if opa := shutil.which("opa"):
        # An HTTP client of 25 MB, for this line alone.
        from opa_decisions import through_opa  # noqa: PLC0415 - as said above

        figures.append(await through_opa(opa, small.encode(), rounds))
    return figures


def _counting(rounds: int) -> dict[str, object]:
    """What counting a call costs the gateway, with what policy sees of it, over a day of calls of 50 tools."""
    calls, now, taken = PrincipalCalls(), 1_767_225_600.0, []
    for n in range(20 * rounds):
        now += 2.16
        tool = f"tool-{n % 50}"
        began = time.perf_counter()
        calls.seen(tool, now).json  # noqa: B018 - what it costs to write it down is what is measured
        calls.count(tool, now, destructive=n % 5 == 0)
        taken.append((time.perf_counter() - began) * 1e6)
    return {
        "what": "counting a call",
        "p50_us": statistics.median(taken),
        "p99_us": statistics.quantiles(taken, n=100)[98],
    }


async def _through_worker(document: bytes, rounds: int) -> dict[str, object]:
    engine = EmbeddedEngine(load_bundle())
    await engine.start()
    try:
        taken = []
        for _ in range(rounds):
            began = time.perf_counter()
            await engine.evaluate(document)
            taken.append((time.perf_counter() - began) * 1e6)
    finally:
        await engine.close()
    what = "input of 1 KB, through a worker process and back"
    return {"what": what, "p50_us": statistics.median(taken), "p99_us": statistics.quantiles(taken, n=100)[98]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    for figure in uvloop.run(decision_figures(parser.parse_args().rounds)):
        print(json.dumps(figure))
