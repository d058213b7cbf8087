"""The differences of a candidate: bounded on disk, read again, and never in anybody's way."""

from pathlib import Path

import pytest
from interlock_gateway.core.decision import Decision, Obligations, Reason, Verdict
from interlock_gateway.policy.shadow import log
from interlock_gateway.policy.shadow.difference import Difference, Subject, differ, difference, read_line
from interlock_gateway.policy.shadow.log import DifferenceLog


def decided(verdict: Verdict, code: str = "c", **obligations: int) -> Decision:
    reasons = (Reason(code, f"said \u2028 {code}", "custom/x"),)
    return Decision("d-1", verdict, reasons, Obligations(**obligations), policy_revision="r")  # type: ignore[arg-type]  # sizes


def found(number: int = 0) -> Difference:
    subject = Subject(1.5, "s", f"call-{number}", "echo", "agent")
    return difference(subject, decided(Verdict.ALLOW), decided(Verdict.DENY, "x" * 900), str.upper)


@pytest.mark.req("LIFE-5")
def test_verdicts_and_obligations_differ_and_reasons_alone_do_not() -> None:
    assert differ(decided(Verdict.ALLOW), decided(Verdict.DENY))
    assert differ(decided(Verdict.ALLOW), decided(Verdict.ALLOW, max_result_bytes=1))
    assert not differ(decided(Verdict.DENY, "one"), decided(Verdict.DENY, "other"))


def test_a_line_is_read_as_it_was_written_and_its_texts_are_masked_and_cut() -> None:
    one = found()
    assert one.candidate.reasons[0].code == "X" * 500
    assert one.line().count(b"\n") == 1
    assert read_line(one.line()) == one
    for line in (one.line()[:-9], b"", b"{}", b"\xff"):
        assert read_line(line) is None


async def test_two_files_of_a_bounded_size_are_kept_and_the_latest_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "MAX_FILE_BYTES", 5000)
    differences = DifferenceLog(tmp_path / "policy")
    await differences.open()
    for number in range(42):
        differences.add(found(number))
        if number % 5 == 4:
            await differences.close()
    await differences.close()
    size = len(found().line())
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "policy").iterdir()}
    assert sizes.keys() == {"shadow.jsonl", "shadow.1.jsonl"}
    assert max(sizes.values()) < 5000 + 5 * size
    with (tmp_path / "policy" / "shadow.jsonl").open("ab") as file:
        file.write(b'{"cut')
    again = DifferenceLog(tmp_path / "policy")
    await again.open()
    names = [one.subject.call_id for one in again.latest()]
    assert names == [f"call-{number}" for number in range(41, 41 - len(names), -1)]
    assert len(names) >= 5


async def test_what_the_disk_does_not_take_is_counted_and_still_shown(tmp_path: Path) -> None:
    (tmp_path / "policy").write_text("a file where a directory should be")
    differences = DifferenceLog(tmp_path / "policy")
    await differences.open()
    differences.add(found())
    await differences.close()
    assert differences.lost == 1
    assert len(differences.latest()) == 1


async def test_more_at_once_than_can_be_written_are_counted(tmp_path: Path) -> None:
    differences = DifferenceLog(tmp_path)
    for number in range(log.MOST_WAITING + 7):
        differences.add(found(number))
    assert differences.lost == 7
    await differences.close()
    assert len((tmp_path / "shadow.jsonl").read_bytes().splitlines()) == log.MOST_WAITING
