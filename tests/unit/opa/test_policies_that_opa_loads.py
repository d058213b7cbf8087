"""Policies that OPA loads itself: read back, checked, and denied until they were (ENG-5, LIFE-3, SEC-6)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from asked_opa import does, failure, said
from interlock_gateway.cli.checks import Check, check_policies
from interlock_gateway.config import Config, PolicyConfig
from interlock_gateway.config_opa import OpaConfig
from interlock_gateway.core.decision import GatewayErrorCode
from interlock_gateway.policy.opa import origin as origin_module
from interlock_gateway.policy.opa.settings import OpaAccess
from interlock_gateway.policy.settings import PolicySourceError
from loaded_policies import data_of, policies, put, put_word, reading
from opa_process import OpaProcess, running_opa
from waiting import eventually

UNAVAILABLE = GatewayErrorCode.POLICY_UNAVAILABLE
REACHES_OUT = """package interlock.words

first(document) := data.interlock.settings.word if document.do == "answer"

late := time.now_ns()

home := opa.runtime().env.HOME
"""


@pytest.mark.req("LIFE-3", "ENG-1")
async def test_policies_decide_when_they_were_read_and_accepted_and_not_before(opa: OpaProcess, tmp_path: Path) -> None:
    revision = await put_word(opa, "hello")
    async with reading(opa, tmp_path) as at:
        assert not at.engine.ready
        assert await failure(at.engine) is UNAVAILABLE
        assert f"{revision}, which the gateway has not accepted" in at.engine.trouble
        assert await at.take() == ()
        assert at.engine.ready
        assert await said(at.engine) == "hello"
        assert at.engine.revision == revision


@pytest.mark.req("ENG-5", "LIFE-3")
async def test_policies_that_reach_the_environment_or_the_clock_are_refused_with_file_and_line(
    opa: OpaProcess, tmp_path: Path
) -> None:
    await put_word(opa, "evil", words_rego=REACHES_OUT)
    async with reading(opa, tmp_path) as at:
        (problem,) = await at.look_and_take()
        assert (problem.file, problem.line) == ("words.rego", 5)
        assert "calls time.now_ns, which policies may not use" in problem.message
        assert "1 more" in problem.message
        assert not at.engine.ready
        assert await failure(at.engine) is UNAVAILABLE
        assert "words.rego:5" in at.engine.trouble
        assert at.engine.figures.answers["not_accepted"] >= 1
        good = await put_word(opa, "good")
        assert await at.look_and_take() == ()
        assert at.engine.revision == good
        assert await said(at.engine) == "good"


@pytest.mark.req("LIFE-3", "ENG-5")
async def test_what_opa_swaps_in_between_two_looks_decides_nothing(opa: OpaProcess, tmp_path: Path) -> None:
    first = await put_word(opa, "first")
    async with reading(opa, tmp_path) as at:
        await at.look_and_take()
        assert await said(at.engine) == "first"
        second = await put_word(opa, "second")
        assert await failure(at.engine) is UNAVAILABLE
        assert second in at.engine.trouble
        assert not at.engine.ready
        await put_word(opa, "first")
        assert await said(at.engine) == "first", "what was accepted needs no second look"
        await eventually(lambda: at.engine.revision == first)
        await put_word(opa, "second")
        assert await at.look_and_take() == ()
        assert await said(at.engine) == "second"


@pytest.mark.req("LIFE-3")
async def test_of_refused_policies_the_same_is_seen_at_each_look_whatever_they_call_themselves(
    opa: OpaProcess, tmp_path: Path
) -> None:
    modules = policies("evil")
    modules["response.rego"] = (
        'package interlock\n\nresponse := {"decision": decision, "policy": '
        '{"revision": sprintf("%d", [time.now_ns()]), "profile": "p", "enforced": true}}\n'
    )
    await put(opa, modules, data_of("evil", modules))
    async with reading(opa, tmp_path) as at:
        before = await at.origin.look()
        (problem,) = await at.take()
        assert "time.now_ns" in problem.message
        assert [await at.origin.look() for _ in range(3)] == [before] * 3
        assert await failure(at.engine) is UNAVAILABLE


@pytest.mark.req("SEC-6", "LIFE-3")
async def test_other_policies_under_the_name_of_those_in_force_end_them(
    opa: OpaProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origin_module, "READ_AGAIN_S", 0.0)
    revision = await put_word(opa, "honest")
    async with reading(opa, tmp_path) as at:
        await at.look_and_take()
        liars = policies("liar")
        await put(opa, liars, data_of("liar", liars, revision=revision))
        (problem,) = await at.look_and_take()
        assert f"calls itself {revision}" in problem.message
        assert await failure(at.engine) is UNAVAILABLE
        assert not at.engine.ready


@pytest.mark.req("SEC-6")
async def test_policies_that_answer_under_another_name_than_their_data_has_are_refused(
    opa: OpaProcess, tmp_path: Path
) -> None:
    modules = policies("liar")
    modules["response.rego"] = (
        'package interlock\n\nresponse := {"decision": decision, '
        '"policy": {"revision": "r1", "profile": "standard", "enforced": true}}\n'
    )
    await put(opa, modules, data_of("liar", modules))
    async with reading(opa, tmp_path) as at:
        (problem,) = await at.look_and_take()
        assert "answers as r1" in problem.message
        assert await failure(at.engine) is UNAVAILABLE


@pytest.mark.req("ENG-5")
@pytest.mark.parametrize(
    ("name", "source", "why"),
    [
        (
            "lib.rego",
            'package lib\n\nout := http.send({"method": "GET", "url": "http://127.0.0.1"})\n',
            r"lib\.rego:3: calls http\.send",
        ),
        ("more.rego", "package interlock.more\n\nall := count(data.lib)\n\nx := data.system\n", r"reads data\.system"),
        ("all_test.rego", "package interlock.words\n\nx := 1\n", "is called a test, and is in the package"),
        (
            "out_test.rego",
            "package interlock.custom_test\n\ntest_x if opa.runtime().env\n",
            r"out_test\.rego:3: calls opa\.runtime",
        ),
        ("more.rego", "package interlock.more\n\nx := data.interlock.custom_test.x\n", "reaches tests"),
    ],
)
async def test_nothing_that_the_policies_reach_goes_unchecked(
    opa: OpaProcess, tmp_path: Path, name: str, source: str, why: str
) -> None:
    modules = policies("evil", **{name.replace(".", "_"): source})
    if name == "lib.rego":
        modules["main.rego"] += "\nreached := data.lib.out\n"
    if why == "reaches tests":
        modules["x_test.rego"] = "package interlock.custom_test\n\nx := 1\n"
    await put(opa, modules, data_of("evil", modules))
    async with reading(opa, tmp_path) as at:
        (problem,) = await at.look_and_take()
        assert await failure(at.engine) is UNAVAILABLE
    assert re.search(why, f"{problem.file}:{problem.line}: {problem.message}")


async def test_policies_of_others_in_the_same_opa_are_nobodys_business(opa: OpaProcess, tmp_path: Path) -> None:
    others = "package billing\n\nnow := time.now_ns()\n\nenv := opa.runtime().env\n"
    await put_word(opa, "hello", billing_rego=others)
    modules = policies("hello")
    await put(opa, {**modules, "billing.rego": others}, data_of("hello", modules))
    async with reading(opa, tmp_path) as at:
        assert await at.look_and_take() == ()
        assert await said(at.engine) == "hello"


@pytest.mark.req("LIFE-3")
async def test_their_own_tests_are_run_first(opa: OpaProcess, tmp_path: Path) -> None:
    source = "package interlock.custom_test\n\ntest_never if {\n\tfalse\n}\n"
    modules = {**policies("hello"), "own/custom/never_test.rego": source}
    await put(opa, modules, data_of("hello", modules))
    async with reading(opa, tmp_path) as at:
        (problem,) = await at.look_and_take()
        assert (problem.code, problem.file) == ("test_failed", "own/custom/never_test.rego")
        assert await failure(at.engine) is UNAVAILABLE


@pytest.mark.req("ENG-5")
async def test_interlock_check_reads_them_and_warns_where_nobody_does(opa: OpaProcess) -> None:
    def checked(**more: Any) -> Check:
        settings = OpaConfig(url=opa.url, policies="bundle", **more)
        return check_policies(Config(policy=PolicyConfig(engine="opa", opa=settings)))

    revision = await put_word(opa, "hello")
    found = await does(checked)
    assert (found.ok, revision in found.detail) == (True, True)
    await put_word(opa, "evil", words_rego=REACHES_OUT)
    found = await does(checked)
    assert not found.ok
    assert "words.rego:5" in found.detail
    found = await does(lambda: checked(accept_unchecked_policies=True))
    assert found.ok
    assert "WARNING" in found.detail


AUTHORISED = """package system.authz

default allow := false

allow if input.method == "POST"

allow if input.identity == "may-read"
"""


@pytest.mark.req("ENG-5", "LIFE-3")
async def test_an_opa_that_does_not_let_its_policies_be_read_decides_nothing(
    program: Any, socket_directory: Path, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "authz.rego").write_text(AUTHORISED)
    modules = policies("hello")
    for name, source in modules.items():
        (files / name).write_text(source)
    (files / "data.json").write_text(json.dumps({"interlock": data_of("hello", modules)}))
    more = ("--authentication", "token", "--authorization", "basic", str(files))
    with running_opa(program("opa"), f"unix:{socket_directory}/opa.sock", *more) as opa:
        async with reading(opa, tmp_path / "kept") as at:
            with pytest.raises(PolicySourceError, match="does not let the gateway read"):
                await at.origin.look()
            assert await failure(at.engine) is UNAVAILABLE
            assert "GET /v1/policies" in at.engine.trouble
            assert "GET /v1/policies" in at.origin.status.problem
        token = OpaAccess(host="localhost", port=80, socket=opa.path, token="may-read")
        async with reading(opa, tmp_path / "kept", token) as at:
            (problem,) = await at.look_and_take()
            assert "calls itself" in problem.message, "files by their whole paths are another bundle"
