"""Bundles are signed and verified as OPA does it, and the real OPA agrees."""

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from bundle_keys import key_files, run_opa, signed_bundle, small_files
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock_gateway.policy.bundles.archive import read_archive
from interlock_gateway.policy.bundles.building import packed, signed
from interlock_gateway.policy.bundles.errors import BundleError, BundleFault
from interlock_gateway.policy.bundles.hashing import document_of, file_hash
from interlock_gateway.policy.bundles.loading import load_opened
from interlock_gateway.policy.bundles.opened import open_bundle
from interlock_gateway.policy.bundles.signing import SIGNATURES, sign_files, verify_files
from interlock_gateway.policy.settings import PolicySourceError

ALGORITHMS = ["RS256", "RS512", "PS256", "PS384", "ES256", "ES384", "ES512", "HS256", "HS512"]


@pytest.mark.req("LIFE-4")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_opa_accepts_what_we_sign_and_refuses_it_for_another_scope(
    algorithm: str, tmp_path: Path, program: Any
) -> None:
    opa, key = program("opa"), key_files(tmp_path, algorithm)
    (tmp_path / "ours.tar.gz").write_bytes(signed_bundle(small_files(), key.signing("k", "prod")))
    verified = ["build", "-b", "ours.tar.gz", "--verification-key", key.public, "--verification-key-id", "k",
                "--signing-alg", algorithm, "-o", "out.tar.gz"]  # fmt: skip
    accepted = run_opa(opa, *verified, "--scope", "prod", cwd=tmp_path)
    assert accepted.returncode == 0, accepted.stderr
    assert "scope" in run_opa(opa, *verified, "--scope", "test", cwd=tmp_path).stdout


@pytest.mark.req("LIFE-4")
@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "HS256"])
def test_what_opa_builds_and_signs_is_accepted(algorithm: str, tmp_path: Path, program: Any) -> None:
    opa, key = program("opa"), key_files(tmp_path, algorithm)
    source = tmp_path / "source"
    source.mkdir()
    for name, content in small_files(sequence=None).items():
        (source / name).write_bytes(content)
    (tmp_path / "claims.json").write_text(json.dumps({"iat": 77, "keyid": "k", "scope": "prod"}))
    built = run_opa(opa, "build", "-b", "source", "--signing-key", key.private, "--signing-alg", algorithm,
                    "--claims-file", "claims.json", "-o", "opa.tar.gz", cwd=tmp_path)  # fmt: skip
    assert built.returncode == 0, built.stderr
    opened = open_bundle((tmp_path / "opa.tar.gz").read_bytes(), [key.verifying("k", "prod")])
    assert (opened.sequence, opened.manifest.revision, list(opened.modules)) == (77, "first", ["source/main.rego"])


DOCUMENTS: list[Any] = [
    {"interlock": {"b": [1, 1.0, -0.0, 1e5, 1e-7, 12345678901234567890, 0.1], "a": {"": None, "x": True}}},
    {"quotes": '"\\/\b\f\n\r\t\x00\x1f\x7f', "html": "<&>", "lines": "\u2028\u2029", "wide": "\U0001f512\u00e9"},
    {"\u00e9": 1, "z": 2, "A": 3, 'a"': 4, "\uffff": 5, "\U00010000": 6},
    [], {}, {"a": []}, {"a": {}},
]  # fmt: skip


@pytest.mark.req("LIFE-4")
def test_documents_have_the_hashes_that_opa_gives_them(tmp_path: Path, program: Any) -> None:
    opa, key = program("opa"), key_files(tmp_path, "HS256")
    for number, document in enumerate(DOCUMENTS):
        folder = tmp_path / "bundle" / f"{number}"
        folder.mkdir(parents=True)
        for ascii_only, name in ((False, "data.json"), (True, "other.json")):
            (folder / name).write_text(json.dumps(document, indent=3, ensure_ascii=ascii_only), encoding="utf-8")
    numbers = tmp_path / "bundle" / "numbers"
    numbers.mkdir()
    (numbers / "data.json").write_text('{"x": [1E5, 1e+5, 100000.000, 0.10, -0, -0.0, 1.0e-2]}')
    yaml = tmp_path / "bundle" / "yaml"
    yaml.mkdir()
    (yaml / "data.yaml").write_text("settings:\n  a: 1\n  b: [x, 'y', true, null]\n  c: {d: \"\\u2028\"}\n")
    done = run_opa(
        opa, "sign", "--signing-key", key.private, "--signing-alg", "HS256", "--bundle", "bundle", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    token = json.loads((tmp_path / SIGNATURES).read_text())["signatures"][0]
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    theirs = {one["name"]: one["hash"] for one in claims["files"]}
    assert len(theirs) == 2 * len(DOCUMENTS) + 2
    ours = {name: file_hash(name, (tmp_path / name).read_bytes()) for name in theirs}
    assert ours == theirs


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(document=JSON)
@settings(max_examples=60, deadline=None)
def test_a_documents_hash_is_of_what_it_says_and_not_of_how_it_is_written(document: Any) -> None:
    wide = json.dumps(document, indent=4, ensure_ascii=False).encode("utf-8", "replace")
    narrow = json.dumps(json.loads(wide), ensure_ascii=True, separators=(",", ":")).encode()
    assert file_hash("data.json", wide) == file_hash("a/data.json", narrow)
    assert document_of("data.json", wide) == document_of("data.json", narrow)


@pytest.mark.parametrize(
    "content",
    [b'{"a":1,"a":2}', b"{", b"\xff", b"NaN", b"[1e999999", b'"\\ud800"', b"[" * 100_000, b""],
)
def test_documents_that_read_two_ways_are_refused(content: bytes) -> None:
    with pytest.raises(BundleError):
        file_hash("data.json", content)


def test_yaml_with_aliases_is_refused_before_it_grows() -> None:
    with pytest.raises(BundleError, match="aliases"):
        document_of("data.yaml", b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n")


def changed_header(token: str, **changes: Any) -> str:
    head, rest = token.split(".", 1)
    header = json.loads(base64.urlsafe_b64decode(head + "=="))
    header = {name: value for name, value in {**header, **changes}.items() if value is not None}
    return base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode() + "." + rest


def token_of(files: dict[str, bytes]) -> str:
    found: str = json.loads(files[SIGNATURES])["signatures"][0]
    return found


def with_token(files: dict[str, bytes], *tokens: str, **more: Any) -> dict[str, bytes]:
    return {**files, SIGNATURES: json.dumps({"signatures": tokens, **more}).encode()}


@pytest.mark.req("LIFE-4", "SEC-6")
def test_the_algorithm_is_the_keys_and_never_the_tokens(tmp_path: Path) -> None:
    rs, files = key_files(tmp_path, "RS256"), small_files()
    signed_files = {**files, SIGNATURES: sign_files(files, rs.signing(), issued_at=1)}
    verify_files(signed_files, [rs.verifying()])
    ps = key_files(tmp_path, "PS256").verifying()
    for attempt in (
        with_token(files, changed_header(token_of(signed_files), alg="none")),
        with_token(files, changed_header(token_of(signed_files), alg="none").rpartition(".")[0] + "."),
        with_token(files, changed_header(token_of(signed_files), alg="HS256")),
        with_token(files, changed_header(token_of(signed_files), crit=["x"], x=1)),
        with_token(files, changed_header(token_of(signed_files), b64=False)),
    ):
        with pytest.raises(BundleError) as caught:
            verify_files(attempt, [rs.verifying()])
        assert caught.value.fault is BundleFault.SIGNATURE
    with pytest.raises(BundleError) as caught:  # the same key, for another algorithm
        verify_files(signed_files, [ps])
    assert caught.value.fault is BundleFault.SIGNATURE


@pytest.mark.req("LIFE-4", "SEC-6")
def test_a_public_key_used_as_a_secret_signs_nothing(tmp_path: Path) -> None:
    rs = key_files(tmp_path, "RS256")
    with pytest.raises(BundleError, match="secret is needed"):
        key_files(tmp_path, "HS256", "other").__class__("HS256", rs.public, rs.public).verifying()
    with pytest.raises(BundleError, match="private key"):
        rs.__class__("RS256", rs.private, rs.private).verifying()
    with pytest.raises(BundleError, match="curve"):
        rs.__class__("ES384", rs.private, key_files(tmp_path, "ES256", "es").public).verifying()
    short = tmp_path / "short"
    short.write_text("x" * 31)
    with pytest.raises(BundleError, match="at least 32"):
        rs.__class__("HS256", short, short).verifying()


@pytest.mark.parametrize(
    ("signatures", "fault"),
    [
        ({}, BundleFault.MALFORMED),
        ({"signatures": []}, BundleFault.UNSIGNED),
        ({"signatures": ["a.b.c"]}, BundleFault.SIGNATURE),
        ({"signatures": [""]}, BundleFault.SIGNATURE),
        ({"signatures": "a.b.c"}, BundleFault.MALFORMED),
        ({"signatures": [1]}, BundleFault.MALFORMED),
        ([], BundleFault.MALFORMED),
    ],
)
def test_signature_files_that_hold_no_signature_are_refused(
    tmp_path: Path, signatures: Any, fault: BundleFault
) -> None:
    key = key_files(tmp_path)
    with pytest.raises(BundleError) as caught:
        verify_files({**small_files(), SIGNATURES: json.dumps(signatures).encode()}, [key.verifying()])
    assert caught.value.fault is fault


def test_several_signatures_and_plug_ins_are_refused_as_opa_does(tmp_path: Path) -> None:
    key, files = key_files(tmp_path), small_files()
    token = token_of({SIGNATURES: sign_files(files, key.signing(), issued_at=1)})
    for attempt in (with_token(files, token, token), with_token(files, token, plugin="mine")):
        with pytest.raises(BundleError):
            verify_files(attempt, [key.verifying()])
    verify_files(with_token(files, token, plugin="_default"), [key.verifying()])


def test_signing_again_replaces_the_signature(tmp_path: Path) -> None:
    first, second = key_files(tmp_path, name="first"), key_files(tmp_path, name="second")
    raw = signed(signed_bundle(small_files(), first.signing("a")), second.signing("b"), issued_at=2)
    opened = open_bundle(raw, [first.verifying("a"), second.verifying("b")])
    assert opened.signature is not None
    assert (opened.signature.key_id, opened.signature.issued_at) == ("b", 2)


def test_a_signed_bundle_without_a_configured_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError) as caught:
        open_bundle(signed_bundle(small_files(), key_files(tmp_path).signing()))
    assert caught.value.fault is BundleFault.NO_KEY
    assert open_bundle(packed(small_files())).signature is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("sub/.manifest", b"{}"),
        ("x.manifest", b"{}"),
        (".manifest.pb", b""),
        ("sub/.signatures.json", b"{}"),
        ("patch.json", b"{}"),
        ("a/policy.wasm", b""),
        ("plan.json", b"{}"),
        (".manifest", b'{"rego_version": 0}'),
        (".manifest", b'{"file_rego_versions": {"*": 0}}'),
        (".manifest", b'{"wasm": [{}]}'),
        (".manifest", b'{"roots": ["other"]}'),
        (".manifest", b'{"roots": "interlock"}'),
        (".manifest", b'{"metadata": {"interlock": {"sequence": -1}}}'),
        (".manifest", b'{"metadata": {"interlock": {"sequence": "9"}}}'),
        (".manifest", b"[]"),
        ("data.json", b'{"other": 1}'),
        ("data.json", b"[]"),
        ("interlock/data.json", b'{"profile": "other"}'),
        ("interlock/profile/data.json", b'{"x": 1}'),
        ("stray.rego", b"package elsewhere\n"),
        ("bad.rego", b"package interlock\n\xff"),
    ],
)  # fmt: skip
def test_what_opa_gives_a_meaning_to_that_is_not_taken_here_is_refused(name: str, content: bytes) -> None:
    with pytest.raises(BundleError) as caught:
        open_bundle(packed({**small_files(), name: content}))
    assert caught.value.fault is BundleFault.MALFORMED


def test_files_that_mean_nothing_are_left_alone() -> None:
    opened = open_bundle(packed({**small_files(), "README.md": b"# hello", "sub/more.yaml": b"a: 1"}))
    assert list(opened.modules) == ["main.rego"]
    assert list(read_archive(packed(small_files()), 100_000)) == [".manifest", "data.json", "main.rego"]


def test_an_overlays_bundle_without_room_to_unpack_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"custom/a.rego": b"package interlock.custom\n"}
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    with pytest.raises(BundleError, match="TMPDIR"):
        load_opened(open_bundle(packed(files)), profile="standard")


def test_problems_of_an_overlays_bundle_have_their_place_in_it() -> None:
    files = {"custom/a.rego": b"package interlock.custom\n\nfindings contains {\n", "data.json": b"{}"}
    with pytest.raises(PolicySourceError) as caught:
        load_opened(open_bundle(packed(files)), profile="standard")
    assert caught.value.place == "bundle/custom/a.rego:4"
    unknown = {"data.json": b'{"settings": {"confidense": {}}}'}
    with pytest.raises(PolicySourceError) as caught:
        load_opened(open_bundle(packed(unknown)), profile="standard")
    assert caught.value.place.startswith("bundle/data.yaml")
