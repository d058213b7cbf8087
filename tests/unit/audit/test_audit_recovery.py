import json
from pathlib import Path

import pytest
from audit_logs import kinds, open_chain
from interlock_gateway.audit.checkpoint import FILE_NAME, SLOT_BYTES
from interlock_gateway.audit.errors import AuditDamagedError
from interlock_gateway.audit.keys import SigningKey, load_or_create
from interlock_gateway.audit.read import read_records
from interlock_gateway.audit.segments import list_segments
from interlock_gateway.audit.verify import verify


def killed(directory: Path, key: SigningKey, *, lines: int = 3, marked: bool = True) -> Path:
    """A log whose writer was killed after `lines` records; the path of its last segment."""
    chain = open_chain(directory, key)
    for n in range(lines):
        chain.append([b'"kind":"receipt","n":%d' % n])
        if marked:
            chain.mark()
    chain.release()
    return list_segments(directory)[-1].path


def reopen(directory: Path, key: SigningKey) -> None:
    open_chain(directory, key).close()


@pytest.mark.req("AUD-2", "REL-4")
def test_a_log_goes_on_after_a_kill_and_says_so(directory: Path, key: SigningKey) -> None:
    killed(directory, key)
    reopen(directory, key)
    assert kinds(directory) == ["segment", "receipt", "receipt", "receipt", "recovered", "closed"]
    assert verify(directory, key.public.pem()).ok


@pytest.mark.req("AUD-2", "REL-4")
@pytest.mark.parametrize("torn", [b"{", b'{"v":1,"sequence":5,"previous":"ab', b"\0" * 700, b"\xff\xfe"])
def test_an_incomplete_last_line_is_removed_and_what_it_was_is_recorded(
    directory: Path, key: SigningKey, torn: bytes
) -> None:
    segment = killed(directory, key)
    with segment.open("ab") as file:
        file.write(torn)
    reopen(directory, key)
    recovered = next(record.record for record in read_records(directory) if record.kind == "recovered")
    assert recovered["torn_bytes"] == len(torn)
    assert len(str(recovered["torn_sha256"])) == 64
    assert verify(directory, key.public.pem()).ok


@pytest.mark.req("AUD-2", "REL-4")
def test_lines_behind_the_last_checkpoint_are_kept(directory: Path, key: SigningKey) -> None:
    killed(directory, key, marked=False)
    reopen(directory, key)
    assert kinds(directory).count("receipt") == 3
    recovered = next(record.record for record in read_records(directory) if record.kind == "recovered")
    assert recovered["uncovered"] == 4
    assert verify(directory, key.public.pem()).ok


@pytest.mark.req("AUD-2", "REL-4")
def test_an_empty_segment_left_by_a_crash_is_no_obstacle(directory: Path, key: SigningKey) -> None:
    killed(directory, key)
    (directory / "receipts-00000000000000000005.jsonl").touch()
    reopen(directory, key)
    assert verify(directory, key.public.pem()).ok


@pytest.mark.req("AUD-2", "REL-4")
def test_one_damaged_checkpoint_of_two_is_survived_and_recorded(directory: Path, key: SigningKey) -> None:
    killed(directory, key)
    content = bytearray((directory / FILE_NAME).read_bytes())
    latest = 0 if json.loads(content[:SLOT_BYTES])["checkpoint"] > json.loads(content[SLOT_BYTES:])["checkpoint"] else 1
    content[latest * SLOT_BYTES + 40 : latest * SLOT_BYTES + 60] = bytes(20)
    (directory / FILE_NAME).write_bytes(content)
    assert not verify(directory, key.public.pem()).ok
    reopen(directory, key)
    assert "recovered" in kinds(directory)
    assert verify(directory, key.public.pem()).ok


def cut(segment: Path) -> None:
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(lines[:-1]))


def cut_in_a_line(segment: Path) -> None:
    segment.write_bytes(segment.read_bytes()[:-10])


def change(segment: Path) -> None:
    segment.write_bytes(segment.read_bytes().replace(b'"n":1', b'"n":7'))


def remove_in_the_middle(segment: Path) -> None:
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(lines[:1] + lines[2:]))


def remove_all(segment: Path) -> None:
    segment.unlink()


def remove_checkpoint(segment: Path) -> None:
    (segment.parent / FILE_NAME).unlink()


def ruin_checkpoints(segment: Path) -> None:
    (segment.parent / FILE_NAME).write_bytes(bytes(2 * SLOT_BYTES))


def add_a_line(segment: Path) -> None:
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join([*lines, lines[-1]]))


def add_junk(segment: Path) -> None:
    segment.write_bytes(segment.read_bytes() + b"junk\n")


def rename(segment: Path) -> None:
    segment.rename(segment.with_name("receipts-00000000000000000002.jsonl"))


@pytest.mark.req("AUD-2")
@pytest.mark.parametrize(
    "damage",
    [
        cut,
        cut_in_a_line,
        change,
        remove_in_the_middle,
        remove_all,
        remove_checkpoint,
        ruin_checkpoints,
        add_a_line,
        add_junk,
        rename,
    ],
)
def test_a_log_that_was_tampered_with_is_not_continued(directory: Path, key: SigningKey, damage: object) -> None:
    assert callable(damage)
    damage(killed(directory, key))
    with pytest.raises(AuditDamagedError):
        open_chain(directory, key)


@pytest.mark.req("AUD-2")
def test_a_closed_log_with_something_behind_its_end_is_not_continued(directory: Path, key: SigningKey) -> None:
    killed(directory, key)
    reopen(directory, key)
    segment = list_segments(directory)[-1].path
    with segment.open("ab") as file:
        file.write(b"{")
    with pytest.raises(AuditDamagedError, match="incomplete"):
        open_chain(directory, key)


@pytest.mark.req("AUD-2")
def test_a_log_of_another_key_is_not_continued(directory: Path, key: SigningKey, tmp_path: Path) -> None:
    killed(directory, key)
    with pytest.raises(AuditDamagedError, match="signed with key"):
        open_chain(directory, load_or_create(tmp_path / "other.pem"))


@pytest.mark.req("AUD-2")
def test_a_checkpoint_in_an_earlier_segment_is_followed_to_the_end(directory: Path, key: SigningKey) -> None:
    chain = open_chain(directory, key, segment_bytes=600)
    chain.append([b'"kind":"receipt","n":0'])
    chain.mark()
    for n in range(6):
        chain.append([b'"kind":"receipt","n":%d' % n])
    chain.release()
    assert len(list_segments(directory)) > 3
    reopen(directory, key)
    assert verify(directory, key.public.pem()).ok
