"""W3C Trace Context as it is read and written, against the specification and OpenTelemetry's own reader (OBS-2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from interlock_gateway.core.trace import MAX_STATE, TraceContext, read_state, read_trace
from interlock_gateway.http2.fields import trace_fields, trace_of
from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
VALID = f"00-{TRACE}-{SPAN}-01"
HEX = "0123456789abcdef"
MEMBER = st.from_regex(r"[a-z][a-z0-9_*/-]{0,30}=[a-z0-9;:._-]{1,200}", fullmatch=True)


def theirs(parent: str) -> trace.SpanContext:
    carrier = {"traceparent": parent}
    return trace.get_current_span(TraceContextTextMapPropagator().extract(carrier)).get_span_context()


@pytest.mark.req("OBS-2")
@pytest.mark.parametrize(
    "parent",
    [
        "",
        "00",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-0g",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN.upper()}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}-01-",
        f"ff-{TRACE}-{SPAN}-01",
        f"cc-{TRACE}-{SPAN}-01more",
        f"0-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01\n",
        f"00-{TRACE}-{SPAN}-\uff101",
        f"{VALID},{VALID}",
        "cc-" + f"{TRACE}-{SPAN}-01-" + "x" * 600,
    ],
)
def test_a_malformed_traceparent_counts_as_none(parent: str) -> None:
    assert read_trace([parent], ["vendor=1"]) is None


@pytest.mark.req("OBS-2")
def test_what_is_valid_is_read_with_the_known_flags_alone() -> None:
    assert read_trace([VALID]) == TraceContext(TRACE, SPAN, 1)
    assert read_trace([f" {VALID}\t"]) == TraceContext(TRACE, SPAN, 1)
    assert read_trace([f"00-{TRACE}-{SPAN}-ff"]) == TraceContext(TRACE, SPAN, 3)
    assert read_trace([f"cc-{TRACE}-{SPAN}-01-what-comes-later"]) == TraceContext(TRACE, SPAN, 1)
    assert read_trace([f"cc-{TRACE}-{SPAN}-01"]) == TraceContext(TRACE, SPAN, 1)


@pytest.mark.req("OBS-2")
def test_several_traceparents_are_none_and_a_state_alone_is_nothing() -> None:
    assert read_trace([VALID, VALID]) is None
    assert read_trace([], ["vendor=1"]) is None


@pytest.mark.req("OBS-2")
@pytest.mark.parametrize(
    "state",
    ["=1", "vendor", "vendor=", "Vendor=1", "vendor=1,vendor=2", "vendor=a,other=é", "vendor =1", "1vendor=1", "a=b=c"],
)
def test_a_malformed_state_is_left_out_and_the_trace_stands(state: str) -> None:
    assert read_trace([VALID], [state]) == TraceContext(TRACE, SPAN, 1)


@pytest.mark.req("OBS-2")
def test_states_in_several_fields_are_one_in_their_order() -> None:
    assert read_state(["a=1", "b=2 , c=3", "", "0tenant@vendor=4"]) == "a=1,b=2,c=3,0tenant@vendor=4"


@pytest.mark.req("OBS-2")
def test_a_long_state_loses_its_large_members_first_and_then_the_last() -> None:
    small = [f"k{number}={'v' * 50}" for number in range(12)]
    kept = read_state([",".join([f"large={'v' * 200}", *small])])
    assert len(kept) <= MAX_STATE
    assert kept.split(",") == small[: len(kept.split(","))]
    assert not read_state([",".join(f"k{number}=v" for number in range(33))])


@pytest.mark.req("OBS-2")
@given(st.text(alphabet=HEX + "-GZ\t é", max_size=80) | st.binary(max_size=80).map(lambda raw: raw.decode("latin-1")))
def test_no_text_makes_the_reader_raise_and_what_it_takes_others_take_too(parent: str) -> None:
    found = read_trace([parent], [parent])
    if found is not None:
        seen = theirs(found.traceparent)
        assert (f"{seen.trace_id:032x}", f"{seen.span_id:016x}") == (found.trace_id, found.span_id)


@pytest.mark.req("OBS-2")
@given(
    st.text(HEX, min_size=32, max_size=32), st.text(HEX, min_size=16, max_size=16), st.text(HEX, min_size=2, max_size=2)
)
def test_opentelemetry_and_we_agree_about_version_00(trace_id: str, span_id: str, flags: str) -> None:
    parent = f"00-{trace_id}-{span_id}-{flags}"
    found, seen = read_trace([parent]), theirs(parent)
    assert (found is not None) == seen.is_valid
    if found is not None:
        assert found.sampled == seen.trace_flags.sampled
        assert (found.trace_id, found.span_id) == (f"{seen.trace_id:032x}", f"{seen.span_id:016x}")


@pytest.mark.req("OBS-2")
@given(st.lists(MEMBER, max_size=40) | st.lists(st.text(max_size=60), max_size=5))
def test_a_state_stays_within_its_bounds_and_is_read_again_as_it_was_written(members: list[str]) -> None:
    written = read_state([",".join(members)])
    assert len(written) <= MAX_STATE
    assert written.isascii()
    assert read_state([written]) == written


@pytest.mark.req("OBS-2")
def test_fields_are_read_and_written_as_they_were() -> None:
    fields = [(b":path", b"/x"), (b"traceparent", VALID.encode()), (b"tracestate", b"a=1"), (b"tracestate", b"b=2")]
    found = trace_of(fields)
    assert found == TraceContext(TRACE, SPAN, 1, "a=1,b=2")
    assert trace_fields(found) == ((b"traceparent", VALID.encode()), (b"tracestate", b"a=1,b=2"))
    assert trace_fields(None) == ()
    assert trace_of([(b"traceparent", b"\xff\xfe"), (b"baggage", b"a=1")]) is None
