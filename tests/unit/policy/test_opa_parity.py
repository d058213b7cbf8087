"""The real OPA on the same policies: it accepts them, its tests pass, and it decides every case alike (ENG-2)."""

import asyncio
import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from engine_running import running_engine
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.cases import by_conditions, load_cases
from interlock_gateway.policy.corpus.playing import play
from interlock_gateway.policy.corpus.sessions import load_corpus
from interlock_gateway.policy.embedded.engine import PoolSettings
from interlock_gateway.policy.loader import read_bundle, shipped_policies

CASES = Path(__file__).parents[2] / "cases"
CORPUS = Path(__file__).parents[2] / "corpus"
POLICIES = shipped_policies()


@pytest.fixture(scope="module")
def opa(program: Any) -> Path:
    found: Path = program("opa")
    return found


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, check=False)


@pytest.mark.req("POL-1")
def test_opa_finds_nothing_wrong_with_rules_and_the_input_they_read(opa: Path) -> None:
    sources = sorted(POLICIES.rglob("*.rego"))
    checked = run(opa, "check", "--strict", "--schema", POLICIES / "input.schema.json", *sources)
    assert checked.returncode == 0, checked.stderr


def test_the_policies_are_formatted_as_opa_formats_them(opa: Path) -> None:
    assert run(opa, "fmt", "--list", *POLICIES.rglob("*.rego")).stdout == ""


@pytest.mark.req("ENG-2", "LIFE-1")
def test_every_rego_test_passes_in_opa_too(opa: Path) -> None:
    tested = run(opa, "test", "--bundle", POLICIES.parent)
    assert tested.returncode == 0, tested.stdout
    assert "PASS" in tested.stdout


@pytest.mark.req("ENG-2")
def test_every_case_is_decided_alike(opa: Path, tmp_path: Path) -> None:
    for number, (conditions, group) in enumerate(by_conditions(load_cases(CASES))):
        bundle = read_bundle(**conditions)
        documents = [case.input_json for case in group]
        ours = asyncio.run(decided_by_workers(bundle, documents))
        theirs = decided_by_opa(opa, bundle, documents, tmp_path / str(number))
        for case, mine, other in zip(group, ours, theirs, strict=True):
            assert mine == other, case.name


@pytest.mark.req("ENG-2")
def test_every_call_of_the_corpus_is_decided_alike(opa: Path, tmp_path: Path) -> None:
    bundle = read_bundle()
    asked = [one for played in play(bundle, load_corpus(CORPUS)) for one in played.asked]
    theirs = decided_by_opa(opa, bundle, [one.document for one in asked], tmp_path)
    for one, other in zip(asked, theirs, strict=True):
        assert json.loads(one.answer) == other, one.document.decode()


@pytest.mark.req("ENG-2", "POL-3")
def test_calls_with_fields_missing_are_decided_alike(opa: Path, tmp_path: Path) -> None:
    ((_, cases),) = [
        group
        for group in by_conditions(load_cases(CASES))
        if group[0]["profile"] == "standard" and not any((group[0]["changes"], group[0]["exemptions"]))
    ]
    chance = random.Random(2026)
    mutilated = [mutilate(case.input_json, chance) for case in cases for _ in range(5)]
    bundle = read_bundle()
    ours = asyncio.run(decided_by_workers(bundle, mutilated))
    theirs = decided_by_opa(opa, bundle, mutilated, tmp_path)
    for document, mine, other in zip(mutilated, ours, theirs, strict=True):
        assert mine == other, document.decode()


def mutilate(document: bytes, chance: random.Random) -> bytes:
    """The document without one of its fields."""
    value = json.loads(document)
    node, parent, key = value, value, "version"
    while isinstance(node, dict) and node and (node is value or chance.random() < 0.8):
        parent, key = node, chance.choice(sorted(node))
        node = node[key]
        if isinstance(node, list) and node and isinstance(node[0], dict):
            node = node[0]
    del parent[key]
    return json.dumps(value).encode()


async def decided_by_workers(bundle: PolicyBundle, documents: list[bytes]) -> list[Any]:
    async with running_engine(bundle, settings=PoolSettings(workers=1, timeout_s=10.0)) as engine:
        return [json.loads((await engine.evaluate(document)).document) for document in documents]


def decided_by_opa(opa: Path, bundle: PolicyBundle, documents: list[bytes], place: Path) -> list[Any]:
    """All decisions in one run: the inputs are data, and each is put in the input's place."""
    for path, source in bundle.modules:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(source, encoding="utf-8")
    data = {**json.loads(bundle.data_json), "inputs": [json.loads(document) for document in documents]}
    (place / "data.json").write_text(json.dumps(data), encoding="utf-8")
    query = "[d | some _, call in data.inputs; d := data.interlock.decision with input as call]"
    answered = run(opa, "eval", "--bundle", place, "--format", "raw", query)
    assert answered.returncode == 0, answered.stderr
    return list(json.loads(answered.stdout))
