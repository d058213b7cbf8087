"""Whatever a bundle's bytes are, reading them gives a bundle or says what is wrong, and never more than it may."""

import gzip
import io
import json
import tarfile
from typing import Any

import pytest
from bundle_keys import key_files, signed_bundle, small_files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interlock_gateway.policy.bundles.archive import read_archive
from interlock_gateway.policy.bundles.building import packed
from interlock_gateway.policy.bundles.errors import BundleError
from interlock_gateway.policy.bundles.keys import VerificationKey
from interlock_gateway.policy.bundles.opened import open_bundle
from interlock_gateway.policy.bundles.signing import SIGNATURES

MOST = 1 << 18
WHOLE = packed(small_files())
TAR = gzip.decompress(WHOLE)
KINDS = [tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE, tarfile.GNUTYPE_SPARSE]
FUZZ = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def opened(raw: bytes, *keys: VerificationKey) -> bool:
    try:
        open_bundle(raw, keys, max_bytes=MOST)
    except BundleError:
        return False
    return True


changes = st.lists(st.tuples(st.integers(0, 1 << 16), st.binary(min_size=1, max_size=12)), min_size=1, max_size=4)


def changed(raw: bytes, where: list[tuple[int, bytes]]) -> bytes:
    content = bytearray(raw)
    for place, new in where:
        start = place % len(content)
        content[start : start + len(new)] = new
    return bytes(content)


@pytest.mark.req("SEC-2")
@given(raw=st.binary(max_size=2000))
@FUZZ
def test_any_bytes(raw: bytes) -> None:
    assert not opened(raw)
    opened(gzip.compress(raw))


@pytest.mark.req("SEC-2", "SEC-6")
@given(where=changes)
@FUZZ
def test_changed_bytes_of_a_tar(where: list[tuple[int, bytes]]) -> None:
    opened(gzip.compress(changed(TAR, where), 1))


@pytest.mark.req("SEC-2", "SEC-6")
@given(where=changes)
@FUZZ
def test_a_signed_bundle_with_other_content_never_opens(tmp_path_factory: Any, where: list[tuple[int, bytes]]) -> None:
    key = _key(tmp_path_factory)
    good = signed_bundle(small_files(), key.signing())
    files = read_archive(good, MOST)
    name = sorted(files)[where[0][0] % len(files)]
    other = changed(files[name], where)
    unchanged = other == files[name]
    if opened(packed({**files, name: other}), key.verifying()):
        # Documents are signed by what they say, so spaces may differ; everything else is a forgery.
        structured = name in {".manifest", "data.json", SIGNATURES}
        assert unchanged or (structured and json.loads(other) == json.loads(files[name]))


@pytest.mark.req("SEC-2")
@given(
    names=st.lists(st.text(max_size=30), max_size=5),
    kinds=st.lists(st.sampled_from(KINDS), max_size=5),
)
@FUZZ
def test_any_names_stay_inside(names: list[str], kinds: list[bytes]) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, kind in zip(names, [*kinds, *[tarfile.REGTYPE] * 5], strict=False):
            member = tarfile.TarInfo(name.encode("utf-8", "replace").decode())
            member.type = kind
            archive.addfile(member)
    try:
        files = read_archive(out.getvalue(), MOST)
    except BundleError:
        return
    for name in files:
        assert not name.startswith("/")
        assert not {"", ".", ".."} & set(name.split("/"))


_KEYS: list[Any] = []


def _key(factory: Any) -> Any:
    if not _KEYS:
        _KEYS.append(key_files(factory.mktemp("keys")))
    return _KEYS[0]
