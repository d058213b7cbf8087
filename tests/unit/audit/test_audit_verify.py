import contextlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from audit_logs import open_chain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interlock_gateway.audit.checkpoint import FILE_NAME, SLOT_BYTES
from interlock_gateway.audit.errors import AuditDamagedError
from interlock_gateway.audit.keys import SigningKey, load_or_create
from interlock_gateway.audit.line import Head, build
from interlock_gateway.audit.read import read_last, read_records
from interlock_gateway.audit.segments import list_segments
from interlock_gateway.audit.verify import LogEnd, VerifyReport, verify
from interlock_gateway.errors import ConfigError

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@dataclass(frozen=True, repr=False)
class Sealed:
    """A closed log of a few segments that tests copy and damage."""

    files: dict[str, bytes]
    pem: bytes

    @property
    def segments(self) -> list[str]:
        return [name for name in self.files if name.startswith("receipts-")]

    def lines(self) -> list[tuple[str, int, bytes]]:
        return [
            (name, number, line)
            for name in self.segments
            for number, line in enumerate(self.files[name].splitlines(keepends=True))
        ]

    def check(self, files: dict[str, bytes], directory: Path, known: Head | None = None) -> VerifyReport:
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        for name, data in files.items():
            (directory / name).write_bytes(data)
        return verify(directory, self.pem, known=known)

    def with_lines(self, lines: list[tuple[str, bytes]]) -> dict[str, bytes]:
        files = dict.fromkeys(self.segments, b"")
        for name, line in lines:
            files[name] += line
        return {**self.files, **files}


def _sealed(directory: Path, key: SigningKey) -> Sealed:
    for start in (0, 4):
        chain = open_chain(directory, key, segment_bytes=1500)
        for n in range(start, start + 4):
            chain.append([b'"kind":"receipt","n":%d' % n, b'"kind":"receipt","t":"\xc3\xa9"'])
            chain.mark()
        chain.close()
    return Sealed({path.name: path.read_bytes() for path in sorted(directory.iterdir())}, key.public.pem())


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory, key: SigningKey) -> Sealed:
    return _sealed(tmp_path_factory.mktemp("sealed"), key)


def test_an_untouched_log_is_whole(sealed: Sealed, directory: Path) -> None:
    report = sealed.check(sealed.files, directory)
    assert report.ok
    assert report.end is LogEnd.CLOSED
    assert report.lines == len(sealed.lines())
    assert report.segments == len(sealed.segments) >= 4


@pytest.mark.req("AUD-2")
def test_every_single_byte_of_a_line_matters(sealed: Sealed, directory: Path) -> None:
    name, number, line = sealed.lines()[4]
    at = sum(len(it) for file, n, it in sealed.lines() if file == name and n < number)
    for offset in range(at, at + len(line)):
        data = bytearray(sealed.files[name])
        data[offset] ^= 0x01
        report = sealed.check({**sealed.files, name: bytes(data)}, directory)
        assert not report.ok, f"byte {offset - at} of {line!r}"
        assert report.place.startswith(name)


@pytest.mark.req("AUD-2")
@QUICK
@given(data=st.data())
def test_any_changed_inserted_or_missing_byte_anywhere_is_found(
    data: st.DataObject, sealed: Sealed, directory: Path
) -> None:
    name = data.draw(st.sampled_from([*sealed.segments, FILE_NAME]))
    content = sealed.files[name]
    at = data.draw(st.integers(0, len(content) - 1))
    how = data.draw(st.sampled_from(["change", "insert", "remove", "cut"]))
    byte = bytes([data.draw(st.integers(0, 255))])
    changed = {
        "change": content[:at] + byte + content[at + 1 :],
        "insert": content[:at] + byte + content[at:],
        "remove": content[:at] + content[at + 1 :],
        "cut": content[:at],
    }[how]
    report = sealed.check({**sealed.files, name: changed}, directory)
    assert report.ok == (changed == content)


@pytest.mark.req("AUD-2")
@QUICK
@given(data=st.data())
def test_any_removed_repeated_or_moved_line_is_found(data: st.DataObject, sealed: Sealed, directory: Path) -> None:
    lines = [(name, line) for name, _, line in sealed.lines()]
    one = data.draw(st.integers(0, len(lines) - 1))
    other = data.draw(st.integers(0, len(lines) - 1).filter(lambda it: it != one))
    how = data.draw(st.sampled_from(["remove", "repeat", "swap", "replace", "move"]))
    if how == "remove":
        del lines[one]
    elif how == "repeat":
        lines.insert(other, (lines[other][0], lines[one][1]))
    elif how == "swap":
        (a, first), (b, second) = lines[one], lines[other]
        lines[one], lines[other] = (a, second), (b, first)
    elif how == "replace":
        lines[one] = (lines[one][0], lines[other][1])
    else:
        name, line = lines.pop(one)
        lines.insert(other, (name, line))
    files = sealed.with_lines(lines)
    report = sealed.check(files, directory)
    assert report.ok == (files == sealed.files)
    assert bool(report.place) == bool(report.problem) == (not report.ok)


@pytest.mark.req("AUD-2")
def test_a_tail_cut_off_at_any_line_is_found(sealed: Sealed, directory: Path) -> None:
    lines = [(name, line) for name, _, line in sealed.lines()]
    for kept in range(len(lines)):
        files = {name: data for name, data in sealed.with_lines(lines[:kept]).items() if data or name == "lock"}
        report = sealed.check(files, directory)
        assert not report.ok
        assert "cut off" in report.problem


@pytest.mark.req("AUD-2")
def test_a_missing_segment_is_found(sealed: Sealed, directory: Path) -> None:
    for name in sealed.segments:
        report = sealed.check({file: data for file, data in sealed.files.items() if file != name}, directory)
        assert not report.ok
    report = sealed.check({file: data for file, data in sealed.files.items() if file != sealed.segments[1]}, directory)
    assert report.place == sealed.segments[2]
    assert "a segment is missing" in report.problem


@pytest.mark.req("AUD-2")
def test_a_missing_changed_or_swapped_checkpoint_is_found(sealed: Sealed, directory: Path) -> None:
    whole = sealed.files[FILE_NAME]
    first, second = whole[:SLOT_BYTES], whole[SLOT_BYTES:]
    for content in (b"", first, second, second + first, first + first, second + second, whole + b"\n", whole[:-1]):
        report = sealed.check({**sealed.files, FILE_NAME: content}, directory)
        assert (report.ok, report.place) == (False, FILE_NAME)
    files = {name: data for name, data in sealed.files.items() if name != FILE_NAME}
    assert sealed.check(files, directory).problem == "missing"


@pytest.mark.req("AUD-2")
def test_an_empty_directory_is_no_log(sealed: Sealed, directory: Path) -> None:
    assert not sealed.check({}, directory).ok


@pytest.mark.req("AUD-2")
def test_another_key_is_named(sealed: Sealed, directory: Path, tmp_path: Path) -> None:
    other = load_or_create(tmp_path / "other.pem")
    sealed.check(sealed.files, directory)
    report = verify(directory, other.public.pem())
    assert not report.ok
    assert other.public.key_id in report.problem


@pytest.mark.req("AUD-2")
def test_lines_that_another_key_signed_do_not_pass(sealed: Sealed, directory: Path, tmp_path: Path) -> None:
    forger = load_or_create(tmp_path / "other.pem")
    name, number, line = sealed.lines()[4]
    previous = json.loads(sealed.lines()[3][2])
    forged, _ = build(Head(previous["sequence"], previous["hash"]), b'"kind":"receipt","n":99', forger)
    lines = [(file, forged if (file, n) == (name, number) else it) for file, n, it in sealed.lines()]
    report = sealed.check(sealed.with_lines(lines), directory)
    assert report.place == f"{name}:{number + 1}"
    assert "signature" in report.problem
    assert line != forged


@pytest.mark.req("AUD-2")
def test_a_checkpoint_does_not_pass_for_a_line(sealed: Sealed, directory: Path) -> None:
    last = sealed.segments[-1]
    files = {**sealed.files, last: sealed.files[last] + sealed.files[FILE_NAME][:SLOT_BYTES]}
    assert sealed.check(files, directory).problem == "not a receipt"


@pytest.mark.req("AUD-2")
def test_a_line_that_the_log_never_wrote_cannot_be_added_behind_its_end(
    sealed: Sealed, directory: Path, key: SigningKey
) -> None:
    last = json.loads(sealed.lines()[-1][2])
    extra, _ = build(Head(last["sequence"], last["hash"]), b'"kind":"receipt"', key)
    name = sealed.segments[-1]
    report = sealed.check({**sealed.files, name: sealed.files[name] + extra}, directory)
    assert report.problem == "behind the end of a closed log"


@pytest.mark.req("AUD-2")
def test_a_whole_directory_put_back_to_an_earlier_state_is_found_with_a_line_known_from_elsewhere(
    directory: Path, key: SigningKey, tmp_path: Path
) -> None:
    chain = open_chain(directory, key)
    chain.append([b'"kind":"receipt","n":1'])
    chain.close()
    earlier = tmp_path / "earlier"
    shutil.copytree(directory, earlier)
    chain = open_chain(directory, key)
    chain.append([b'"kind":"receipt","n":2'])
    known = chain.head
    chain.close()
    assert verify(directory, key.public.pem(), known=known).ok
    assert verify(earlier, key.public.pem()).ok
    assert "known from elsewhere" in verify(earlier, key.public.pem(), known=known).problem
    wrong = Head(known.sequence, "0" * 64)
    assert "known from elsewhere" in verify(directory, key.public.pem(), known=wrong).problem


@pytest.mark.req("AUD-2")
def test_an_open_log_is_whole_with_what_stands_behind_its_checkpoint(directory: Path, key: SigningKey) -> None:
    chain = open_chain(directory, key)
    chain.append([b'"kind":"receipt","n":1'])
    chain.mark()
    chain.append([b'"kind":"receipt","n":2'])
    with list_segments(directory)[0].path.open("ab") as file:
        file.write(b'{"v":1,"sequ')
    report = verify(directory, key.public.pem())
    assert (report.ok, report.end, report.uncovered, report.incomplete_tail) == (True, LogEnd.OPEN, 1, True)
    chain.release()


def test_a_newer_format_is_named(sealed: Sealed, directory: Path) -> None:
    name = sealed.segments[0]
    files = {**sealed.files, name: sealed.files[name].replace(b'{"v":1,', b'{"v":2,', 1)}
    assert sealed.check(files, directory).problem == "format 2 is not known here"


def test_a_key_that_is_not_one_is_refused(directory: Path) -> None:
    with pytest.raises(ConfigError, match="PEM"):
        verify(directory, b"nonsense")


Reader = Callable[[Path], object]


@pytest.mark.req("SEC-2")
@QUICK
@given(junk=st.binary(max_size=400), checkpoint=st.binary(max_size=100), at=st.integers(0, 3000))
def test_no_content_whatever_makes_the_readers_fail_unexpectedly(
    junk: bytes, checkpoint: bytes, at: int, sealed: Sealed, directory: Path
) -> None:
    name = sealed.segments[0]
    content = sealed.files[name]
    mangled = content[:at] + junk + content[at + len(junk) :]
    assert isinstance(sealed.check({**sealed.files, name: mangled}, directory), VerifyReport)
    readers: list[Reader] = [lambda it: list(read_records(it)), lambda it: read_last(it, 3)]
    for reader in readers:
        with contextlib.suppress(AuditDamagedError):
            reader(directory)
    slots = checkpoint + sealed.files[FILE_NAME][len(checkpoint) :]
    assert isinstance(sealed.check({**sealed.files, FILE_NAME: slots}, directory), VerifyReport)


@pytest.mark.req("SEC-2")
def test_a_line_with_a_right_hash_and_no_json_is_no_surprise(sealed: Sealed, directory: Path, tmp_path: Path) -> None:
    forger = load_or_create(tmp_path / "other.pem")
    line, _ = build(Head(), b'"kind":"segment",[[[' + b"[" * 5000, forger)
    files = {**sealed.files, sealed.segments[0]: line}
    assert not sealed.check(files, directory).ok
    with pytest.raises(AuditDamagedError, match="not JSON"):
        list(read_records(directory))
