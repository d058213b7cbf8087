import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock_gateway.artifacts.errors import ArtifactUriError
from interlock_gateway.artifacts.uri import ArtifactKey, parse_uri, session_prefix

DIGEST = "0123456789abcdef" * 4
NAME = re.compile(r"v1/[0-9a-f]{64}/[0-9a-f]{64}(\.json)?")

DOTS = [
    "..",
    "../..",
    "..\\..",
    "%2e%2e",
    "%252e%252e",
    "%c0%ae%c0%ae",
    "\uff0e\uff0e",
    "..%00",
    "..;",
    ".../...",
    "....//",
]
SLASHES = ["/", "//", "\\", "%2f", "%5c", "%252f", "%c0%af", "\uff0f", "\u2215", "\u29f8"]
PLACES = ["etc/passwd", "proc/self/environ", "windows/win.ini", "con", "v1", ".ssh/id_rsa", DIGEST, ""]


def traversals() -> list[str]:
    paths = [dots + slash + place for dots, slash, place in itertools.product(DOTS, SLASHES, PLACES)]
    uris = [f"artifact://{path}" for path in paths]
    uris += [f"artifact://s-1/{path}" for path in paths[:200]]
    uris += [f"artifact://{path}/{DIGEST}" for path in paths[:200]]
    return uris


MALFORMED = [
    "",
    "artifact:",
    "artifact://",
    f"artifact:///{DIGEST}",
    "artifact://s-1",
    "artifact://s-1/",
    f"artifact://s-1/{DIGEST}/",
    f"artifact://s-1/{DIGEST}\n",
    f" artifact://s-1/{DIGEST}",
    f"artifact://s-1/{DIGEST}\0",
    f"artifact://s-1/{DIGEST}.json",
    f"artifact://s-1/{DIGEST}?x=1",
    f"artifact://s-1/{DIGEST}#x",
    f"artifact://s-1//{DIGEST}",
    f"artifact://s-1/./{DIGEST}",
    f"artifact://s-1/{DIGEST.upper()}",
    f"artifact://s-1/{DIGEST[:-1]}",
    f"artifact://s-1/{DIGEST}0",
    f"artifact://s-1/{DIGEST[:-1]}g",
    f"artifact://s-1/{DIGEST[:-1]}\u0663",
    f"ARTIFACT://s-1/{DIGEST}",
    f"file://s-1/{DIGEST}",
    f"http://s-1/{DIGEST}",
    f"/v1/s-1/{DIGEST}",
    f"artifact://s 1/{DIGEST}",
    f"artifact://s@1/{DIGEST}",
    f"artifact://{'s' * 129}/{DIGEST}",
    f"artifact://sé/{DIGEST}",
    f"artifact://s-1%00/{DIGEST}",
    f"artifact://user:pw@host/{DIGEST}",
]


@pytest.mark.req("ART-1", "SEC-3")
def test_no_traversal_string_escapes() -> None:
    tried = [*traversals(), *MALFORMED]
    assert len(set(tried)) > 900
    accepted = []
    for uri in tried:
        try:
            key = parse_uri(uri)
        except ArtifactUriError:
            continue
        accepted.append(key.session_id)
        assert NAME.fullmatch(key.content_name)
        assert NAME.fullmatch(key.description_name)
    # A session may be called "..": its name never reaches the store.
    assert set(accepted) == {".."}


@pytest.mark.req("ART-1", "SEC-3")
@pytest.mark.parametrize("uri", MALFORMED)
def test_what_is_not_exactly_an_artifact_uri_is_refused(uri: str) -> None:
    with pytest.raises(ArtifactUriError):
        parse_uri(uri)


@pytest.mark.req("ART-1", "SEC-3")
@given(st.text(max_size=300))
@settings(max_examples=500, deadline=None)
def test_no_text_whatever_becomes_a_path(text: str) -> None:
    for uri in (text, f"artifact://{text}", f"artifact://{text}/{DIGEST}", f"artifact://s-1/{text}"):
        try:
            key = parse_uri(uri)
        except ArtifactUriError:
            continue
        assert key.uri == uri
        assert NAME.fullmatch(key.content_name)
        assert NAME.fullmatch(key.description_name)


@pytest.mark.req("ART-1", "SEC-3")
@pytest.mark.parametrize(
    "session", ["..", ".", "...", "con", "NUL", "v1", "a:b", "-", "_", "C:", "s" * 128, "A.B-c_d:1"]
)
def test_an_odd_session_id_is_only_ever_a_digest_in_the_store(session: str) -> None:
    key = parse_uri(f"artifact://{session}/{DIGEST}")
    assert key == ArtifactKey(session, DIGEST)
    assert NAME.fullmatch(key.content_name)


@pytest.mark.req("ART-1")
def test_sessions_that_differ_in_case_only_do_not_meet() -> None:
    assert session_prefix("Session").lower() != session_prefix("session").lower()


@pytest.mark.req("ART-1", "SEC-3")
@pytest.mark.parametrize("session", ["", "a/b", "../a", "a\\b", "a b", "é", "a\0", "s" * 129, "a\n"])
def test_a_bad_session_id_has_no_place_in_the_store(session: str) -> None:
    with pytest.raises(ArtifactUriError):
        session_prefix(session)
