"""The confidence gate (CONF-1 to CONF-7), by its exact words and by the bytes that reach the tool."""

from pathlib import Path
from typing import Any

import pytest
from interlock import CallStatus
from interlock.v1 import gateway_service_pb2 as pb
from interlock.v1 import gateway_service_pb2_grpc as rpc
from interlock.v1 import tool_pb2
from interlock_gateway.config import IdentityConfig, PolicyConfig
from raw_provider import RawBench, raw_bench, reading

CLOSED = b'{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}'
MALFORMED = "_flyto_confidence must be a number from 0 to 100"
MISSING = "requires _flyto_confidence (0-100) in input, min=70"


def gated(minimum: int, name: str = "careful", **fields: Any) -> tool_pb2.ToolDefinition:
    """A tool whose closed schema knows nothing of the reserved field."""
    capability = tool_pb2.ToolCapability(min_confidence=minimum)
    return reading(name, **{"input_schema": CLOSED, "capability": capability, **fields})


async def sent(at: RawBench, raw: bytes, tool: str = "careful", session: str = "s") -> Any:
    """What the gateway answers to exactly these bytes."""
    request = pb.CallToolRequest()
    request.call.session_id, request.call.tool, request.call.input = session, tool, raw
    async with at.agent.connection.open_async() as channel:
        return (await rpc.GatewayServiceStub(channel).CallTool(request, timeout=10)).result


@pytest.mark.req("CONF-3", "CONF-4", "CONF-6")
@pytest.mark.parametrize(
    ("field", "words", "code"),
    [
        ("", MISSING, "confidence_missing"),
        (',"_Flyto_Confidence":99', MISSING, "confidence_missing"),
        (',"nested":{"_flyto_confidence":99}', MISSING, "confidence_missing"),
        (',"_flyto_confidence":69', "confidence 69 below required 70", "confidence_below"),
        (',"_flyto_confidence":69.5', "confidence 69.5 below required 70", "confidence_below"),
        (',"_flyto_confidence":0', "confidence 0 below required 70", "confidence_below"),
        (',"_flyto_confidence":"90"', MALFORMED, "confidence_malformed"),
        (',"_flyto_confidence":true', MALFORMED, "confidence_malformed"),
        (',"_flyto_confidence":false', MALFORMED, "confidence_malformed"),
        (',"_flyto_confidence":null', MALFORMED, "confidence_malformed"),
        (',"_flyto_confidence":[90]', MALFORMED, "confidence_malformed"),
        (',"_flyto_confidence":{"value":90}', MALFORMED, "confidence_malformed"),
        (',"_flyto_confidence":101', MALFORMED, "confidence_malformed"),
        (',"_flyto_confidence":100.00001', MALFORMED, "confidence_malformed"),
        (',"_flyto_confidence":-1', MALFORMED, "confidence_malformed"),
        (',"_flyto_confidence":9007199254740991', MALFORMED, "confidence_malformed"),
        (',"_flyto_confidence":1e400', "number 1e400 is out of range (at /_flyto_confidence)", "invalid_input"),
        (',"_flyto_confidence":NaN', "NaN is not a JSON number (at /_flyto_confidence)", "invalid_input"),
        (
            ',"_flyto_confidence":1,"_flyto_confidence":99',
            'input has the key "_flyto_confidence" more than once (at /_flyto_confidence)',
            "invalid_input",
        ),
    ],
)
async def test_what_is_not_a_sufficient_confidence_is_denied_in_exact_words(
    socket_directory: Path, field: str, words: str, code: str
) -> None:
    async with raw_bench(socket_directory, gated(70)) as at:
        result = await sent(at, b'{"text":"x"%s}' % field.encode())
        assert result.content[0].text.text == words
        assert [reason.code for reason in result.decision.reasons] == [code]
        assert result.status == 2
        assert at.provider.ran == []


@pytest.mark.req("CONF-6")
@pytest.mark.parametrize("raw", [b"[]", b"null", b'"text"', b"90", b"true"])
async def test_with_the_gate_on_what_is_not_an_object_is_denied(socket_directory: Path, raw: bytes) -> None:
    async with raw_bench(socket_directory, gated(70)) as at:
        result = await sent(at, raw)
        assert (result.status, result.decision.reasons[0].code) == (2, "invalid_input")
        assert at.provider.ran == []


@pytest.mark.req("CONF-1", "CONF-4", "CONF-5")
@pytest.mark.parametrize("confidence", ["70", "70.0", "7e1", "70.00000000000001", "100", "100.0", "99.5"])
async def test_an_equal_or_greater_confidence_passes_and_is_removed_before_the_schema_and_the_tool(
    socket_directory: Path, confidence: str
) -> None:
    async with raw_bench(socket_directory, gated(70)) as at:
        result = await sent(at, b'{"text":"x","_flyto_confidence":%s}' % confidence.encode())
        assert result.content[0].text.text == "ran"
        assert [invocation.input for invocation in at.provider.ran] == [b'{"text":"x"}']


BYTES = {
    b'{ "_flyto_confidence" : 80 , "text" : "a" }': b'{"text" : "a"}',
    b'{"text":"\\u0061\\/\\ud83d\\ude00","_flyto_confidence":80}': b'{"text":"\\u0061\\/\\ud83d\\ude00"}',
    '{"a":1.50,"_flyto_confidence":80,"é":"é \u2028"}'.encode(): '{"a":1.50,"é":"é \u2028"}'.encode(),
    b'{"\\u005fflyto_confidence":80,"text":"_flyto_confidence"}': b'{"text":"_flyto_confidence"}',
    b'{"n":1e3,"big":12345678901234,"_flyto_confidence":80,"z":[1, 2 ,{"_flyto_confidence":1}]}': (
        b'{"n":1e3,"big":12345678901234,"z":[1, 2 ,{"_flyto_confidence":1}]}'
    ),
    b'{"_flyto_confidence":80}': b"{}",
}


@pytest.mark.req("CONF-5", "PIPE-3")
async def test_every_other_byte_reaches_the_tool_as_it_was_sent(socket_directory: Path) -> None:
    async with raw_bench(socket_directory, gated(70, input_schema=b"")) as at:
        for raw in BYTES:
            assert (await sent(at, raw)).content[0].text.text == "ran"
        assert [invocation.input for invocation in at.provider.ran] == list(BYTES.values())


@pytest.mark.req("CONF-2")
@pytest.mark.parametrize("field", ["5", "null", '"sure"', "101", "[]"])
async def test_with_a_minimum_of_zero_the_gate_is_off_and_the_input_passes_unchanged(
    socket_directory: Path, field: str
) -> None:
    raw = b'{"text":"x", "_flyto_confidence": %s}' % field.encode()
    async with raw_bench(socket_directory, gated(0, "open", input_schema=b""), gated(0, "closed")) as at:
        assert (await sent(at, raw, "open")).content[0].text.text == "ran"
        assert [invocation.input for invocation in at.provider.ran] == [raw]
        # A schema that is closed sees the field too: nothing was removed before it.
        refused = await sent(at, raw, "closed")
        assert "'_flyto_confidence' was unexpected" in refused.content[0].text.text


@pytest.mark.req("CONF-1")
async def test_the_reserved_field_can_be_given_another_name(socket_directory: Path) -> None:
    async with raw_bench(socket_directory, gated(70), confidence_field="how_sure") as at:
        old = await sent(at, b'{"text":"x","_flyto_confidence":99}')
        assert old.content[0].text.text == "requires how_sure (0-100) in input, min=70"
        assert (await sent(at, b'{"text":"x","how_sure":70}')).content[0].text.text == "ran"
        assert at.provider.ran[0].input == b'{"text":"x"}'


def overlay(directory: Path, settings: str = "", rule: str = "") -> PolicyConfig:
    """Policies with the operator's settings of the gate, or with a rule of their own."""
    made = directory / "overlay"
    (made / "custom").mkdir(parents=True)
    (made / "data.yaml").write_text(f"settings:\n  confidence:\n    {settings}\n" if settings else "")
    if rule:
        (made / "custom" / "more.rego").write_text(f"# METADATA\n# title: More\npackage interlock.custom\n\n{rule}")
    return PolicyConfig(overlays=(made,))


@pytest.mark.req("CONF-7")
@pytest.mark.parametrize(
    ("settings", "required"),
    [
        ("minimum_by_principal: {local-agent: 90}", 90),
        ("minimum_by_principal: {somebody: 90}", 70),
        ("minimum_by_role: {agent: 85}", 85),
        ("minimum_by_effect: {read_only: 95}", 95),
        ("minimum_by_session_label: {stage: {production: 88}}", 88),
        ("minimum_by_effect: {read_only: 10}", 70),
        ("minimum_by_principal: {local-agent: 0}", 70),
    ],
)
async def test_settings_raise_the_minimum_and_never_lower_it(
    socket_directory: Path, settings: str, required: int
) -> None:
    policy = overlay(socket_directory, settings)
    async with raw_bench(socket_directory, gated(70), policy=policy) as at:
        session = await at.agent.open_session(labels={"stage": "production"})
        missing = await session.call("careful", {"text": "x"})
        assert missing.text == f"requires _flyto_confidence (0-100) in input, min={required}"
        below = await session.call("careful", {"text": "x", "_flyto_confidence": required - 1})
        assert below.text == f"confidence {required - 1} below required {required}"
        assert (await session.call("careful", {"text": "x", "_flyto_confidence": required})).text == "ran"
        assert at.provider.ran[0].input == b'{"text":"x"}'


@pytest.mark.req("CONF-7")
async def test_a_minimum_that_only_settings_ask_for_opens_the_gate_for_ungated_tools(socket_directory: Path) -> None:
    policy = overlay(socket_directory, "minimum_by_effect: {read_only: 40}")
    async with raw_bench(socket_directory, gated(0), policy=policy, identity=IdentityConfig()) as at:
        session = at.agent.session("s")
        assert (await session.call("careful", {"text": "x"})).status is CallStatus.DENIED
        assert (await session.call("careful", {"text": "x", "_flyto_confidence": 40})).text == "ran"
        assert at.provider.ran[0].input == b'{"text":"x"}'


@pytest.mark.req("CONF-7")
async def test_another_policy_may_ask_for_more_and_cannot_ask_for_less(socket_directory: Path) -> None:
    stricter = (
        'findings contains {"verdict": "deny", "code": "not_sure", "message": "be surer", "rule": "custom/more"} if {\n'
        "\tinput.call.confidence < 90\n}\n\n"
        'findings contains {"verdict": "allow", "code": "lower", "message": "", "rule": "custom/more"}\n'
    )
    async with raw_bench(socket_directory, gated(70), policy=overlay(socket_directory, rule=stricter)) as at:
        session = at.agent.session("s")
        for confidence, words in ((50, "confidence 50 below required 70\nbe surer"), (80, "be surer"), (95, "ran")):
            result = await session.call("careful", {"text": "x", "_flyto_confidence": confidence})
            assert sorted(result.text.split("\n")) == sorted(words.split("\n"))


@pytest.mark.req("CONF-5", "PREV-5")
async def test_a_preview_and_its_apply_see_the_input_without_the_field(socket_directory: Path) -> None:
    from gateway_bench import Ledger, bench
    from interlock.provider import DryRunResult, tool

    seen: list[str] = []
    ledger = Ledger()

    @tool(destructive=True, min_confidence=70)
    def change(value: str) -> str:
        """Change it."""
        seen.append(f"ran {value}")
        return "changed"

    @change.dry_run
    def would(value: str) -> DryRunResult:
        seen.append(f"looked {value}")
        return DryRunResult(preview=f"+ {value}", state_token="1")

    async with bench(socket_directory, ledger=ledger, tools=lambda _: [change]) as at:
        session = at.agent.session("s")
        unsure = await session.call("change", {"value": "x", "_flyto_confidence": 10})
        assert unsure.text == "confidence 10 below required 70"
        previewed = await session.call("change", {"value": "x", "_flyto_confidence": 70})
        assert previewed.status is CallStatus.PREVIEW
        assert (await session.resolve("apply", "sure enough")).text == "changed"
    assert seen[0] == "looked x"
    assert seen[-1] == "ran x"
