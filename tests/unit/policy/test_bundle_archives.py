"""The archive of a bundle is read within bounds, and nothing in it leads out of it."""

import gzip
import io
import tarfile

import pytest
from interlock_gateway.policy.bundles.archive import read_archive, safe_name, write_archive
from interlock_gateway.policy.bundles.errors import BundleError, BundleFault

MOST = 1 << 20


def tar_of(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=form) as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def plain(name: str, content: bytes = b"x") -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    return member, content


def typed(kind: bytes, name: str = "a.rego", target: str = "/etc/passwd") -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member, b""


def refused(raw: bytes, max_bytes: int = MOST) -> BundleError:
    with pytest.raises(BundleError) as caught:
        read_archive(raw, max_bytes)
    return caught.value


def test_what_is_written_is_read_and_the_bytes_do_not_depend_on_order_or_time() -> None:
    files = {"b/x.rego": b"two", "a.rego": b"one", ".manifest": b"{}", "long/" + "n" * 150: b"", "d/\u00fc.rego": b"3"}
    raw = write_archive(files)
    assert raw == write_archive(dict(reversed(files.items())))
    assert read_archive(raw, MOST) == dict(sorted(files.items()))


def test_names_begin_at_the_root_of_the_archive_as_opa_writes_them() -> None:
    raw = tar_of(plain("/data.json"), plain("./b.rego"), plain("c/d.rego"), typed(tarfile.DIRTYPE, "c"))
    assert list(read_archive(raw, MOST)) == ["b.rego", "c/d.rego", "data.json"]


@pytest.mark.req("LIFE-4", "SEC-6")
@pytest.mark.parametrize(
    "name",
    ["../a.rego", "a/../../b.rego", "//etc/passwd", "/../a", "a//b", "a/./b", "a\\b", "C:a", "a\nb", "..", ".", "/",
     "a/", "x" * 600],
)  # fmt: skip
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(BundleError):
        safe_name(name)
    if name != "a/":  # tar has no such name for a file
        assert refused(tar_of(plain(name))).fault is BundleFault.MALFORMED


@pytest.mark.req("LIFE-4")
@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.CONTTYPE]
)
def test_links_and_devices_are_refused(kind: bytes) -> None:
    if kind == tarfile.CONTTYPE:  # an old word for a plain file
        assert read_archive(tar_of(typed(kind)), MOST) == {"a.rego": b""}
    else:
        assert "link or a device" in refused(tar_of(typed(kind))).problem


def test_sparse_files_are_refused() -> None:
    member, content = plain("a.rego")
    member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 50)}
    assert refused(tar_of((member, b"1\n0\n1\n".ljust(512, b"\0")[:1]))).fault is BundleFault.MALFORMED
    assert content


def test_a_name_used_twice_is_refused_however_it_is_written() -> None:
    assert "twice" in refused(tar_of(plain("data.json"), plain("/data.json"))).problem


def test_a_name_is_no_file_and_directory_at_once() -> None:
    assert "below a" in refused(tar_of(plain("a"), plain("a/b.rego"))).problem


@pytest.mark.req("LIFE-4")
def test_a_bomb_is_not_unpacked_beyond_its_bound() -> None:
    bomb = tar_of(plain("data.json", b"\0" * (32 << 20)))
    assert len(bomb) < 200_000
    assert refused(bomb).fault is BundleFault.TOO_LARGE
    assert refused(b"\0" * 101, 100).fault is BundleFault.TOO_LARGE


def test_more_files_than_a_bundle_has_are_refused() -> None:
    raw = write_archive({f"{number}.rego": b"" for number in range(10_001)})
    assert refused(raw, 64 << 20).fault is BundleFault.TOO_LARGE


def test_what_is_cut_off_or_goes_on_or_is_none_is_refused() -> None:
    whole = write_archive({"a.rego": b"x" * 1000})
    for length in range(0, len(whole), 7):
        assert refused(whole[:length]).fault is BundleFault.MALFORMED
    assert refused(whole + whole).fault is BundleFault.MALFORMED
    assert refused(gzip.compress(b"no tar at all, and long enough to be looked at" * 50)).fault is BundleFault.MALFORMED
    assert refused(b"PK\3\4").fault is BundleFault.MALFORMED
    cut = gzip.compress(gzip.decompress(whole)[:700])
    assert refused(cut).fault is BundleFault.MALFORMED
