"""One process of a replay: evaluates the decisions of a batch of receipts again, and counts what would change.

It is started as a script. Frames come on standard input and go to standard output, each behind its length in four
bytes: first the job, then batches, which are receipts one behind another; each batch is answered by a tally as JSON.
An evaluation that takes more processor time than the job allows ends the process; which one it was, finds out whoever
sends the batch again, one by one.
"""

import gc
import io
import json
import os
import signal
import sys
from collections.abc import Iterable
from typing import Any, Literal

import regorus

from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.policy.bundle import DECISION_RULE
from interlock_gateway.policy.embedded.worker import frames, limit_resources
from interlock_gateway.policy.replay.comparing import Change, Said, change, denied_for, said
from interlock_gateway.policy.replay.lines import Recorded, parsed, recorded
from interlock_gateway.policy.replay.tally import Tally

Baseline = Literal["never", "changed", "always"]
_UNDEFINED = '"<undefined>"'
_MOST_KEPT = 10_000
_CONFLICTS = ("multiple outputs", "conflicts with rule", "conflicting values")


class Policies:
    """An engine with one set of policies, prepared for it; made anew after it panicked."""

    def __init__(self, modules: list[tuple[str, str]], data_json: str) -> None:
        self._modules = modules
        self._data = data_json
        self._make()

    def decide(self, input_json: str) -> str:
        """The decision document. Raises `DecisionError` when there is none."""
        try:
            self._engine.set_input_json(input_json)
            answer = self._engine.eval_rule_as_json(DECISION_RULE)
        except RuntimeError as error:
            words = str(error)
            conflict = any(one in words for one in _CONFLICTS)
            code = GatewayErrorCode.POLICY_CONFLICT if conflict else GatewayErrorCode.POLICY_ERROR
            raise DecisionError(code, "") from None
        except BaseException:  # noqa: BLE001 - the engine panics as a BaseException
            self._make()
            raise DecisionError(GatewayErrorCode.POLICY_CRASHED, "") from None
        if answer == _UNDEFINED:
            raise DecisionError(GatewayErrorCode.POLICY_UNDEFINED, "")
        return str(answer)

    def _make(self) -> None:
        self._engine = regorus.Engine()
        for package, source in self._modules:
            self._engine.add_policy(package, source)
        self._engine.add_data_json(self._data)


class Replayer:
    """Evaluates recorded decisions again. `baseline` are the policies of `revision`, asked as `when` says."""

    def __init__(self, candidate: Policies, baseline: Policies | None, revision: str, when: Baseline) -> None:
        self._candidate = candidate
        self._baseline = baseline
        self._revision = revision
        self._always = when == "always"
        # What decisions say, by their bytes: most are the same again.
        self._read: dict[bytes | str, Said | DecisionError | None] = {}
        self._compared: dict[tuple[bytes, str], Change | None] = {}

    def tally(self, lines: Iterable[bytes], seconds: float) -> Tally:
        """What the decisions in some lines come to."""
        tally = Tally()
        for line in lines:
            # The kernel ends a process whose evaluation goes on for longer, without the interpreter's help.
            signal.setitimer(signal.ITIMER_PROF, seconds)
            self._replay(line, tally)
        signal.setitimer(signal.ITIMER_PROF, 0)
        return tally

    def _replay(self, line: bytes, tally: Tally) -> None:
        one = recorded(line) or parsed(line)
        if one is None:
            tally.unreadable += 1
            return
        before = self._said(one.result)
        if isinstance(before, DecisionError):
            one = parsed(line) or one
            before = self._said(one.result)
        if isinstance(before, DecisionError):
            tally.unreadable += 1
        elif before is None:
            tally.by_gateway += 1
        elif not one.policy_input:
            tally.without_input += 1
        else:
            self._compare(one, before, tally)

    def _compare(self, one: Recorded, before: Said, tally: Tally) -> None:
        text = one.policy_input.decode()
        answer: str | DecisionError
        try:
            answer = self._candidate.decide(text)
        except DecisionError as error:
            answer = error
        found = self._change(one.result, before, answer, tally)
        if self._baseline is not None and (found is not None or self._always) and one.revision == self._revision:
            now = self._decided_before(text)
            if change(before, now) is not None:
                tally.not_reproduced += 1
                # Compared with what the same policies say of the same input: all else is not the candidate's doing.
                after = denied_for(answer) if isinstance(answer, DecisionError) else self._told(answer)
                found = change(now, after)
        tally.count(one, found)

    def _change(self, result: bytes, before: Said, answer: str | DecisionError, tally: Tally) -> Change | None:
        if isinstance(answer, DecisionError):
            tally.failed[answer.code.value] += 1
            return change(before, denied_for(answer))
        key = (result, answer)
        if key in self._compared:
            return self._compared[key]
        if len(self._compared) > _MOST_KEPT:
            self._compared.clear()
        after = self._said(answer)
        if isinstance(after, DecisionError):
            tally.failed[after.code.value] += 1
            return change(before, denied_for(after))
        found = self._compared[key] = change(before, self._told(answer))
        return found

    def _decided_before(self, text: str) -> Said:
        assert self._baseline is not None
        try:
            return self._told(self._baseline.decide(text))
        except DecisionError as error:
            return denied_for(error)

    def _told(self, answer: str) -> Said:
        found = self._said(answer)
        if isinstance(found, DecisionError):
            return denied_for(found)
        if found is None:
            return denied_for(DecisionError(GatewayErrorCode.POLICY_MALFORMED, ""))
        return found

    def _said(self, raw: bytes | str) -> Said | DecisionError | None:
        if raw in self._read:
            return self._read[raw]
        if len(self._read) > _MOST_KEPT:
            self._read.clear()
        found: Said | DecisionError | None
        try:
            found = said(raw if isinstance(raw, bytes) else raw.encode())
        except DecisionError as error:
            found = error
        self._read[raw] = found
        return found


def _policies(given: dict[str, Any] | None) -> Policies | None:
    return None if given is None else Policies(given["modules"], given["data_json"])


def main() -> None:
    """Run as a script."""
    batches = frames(sys.stdin.fileno())
    job = json.loads(next(batches))
    limit_resources(job["memory_bytes"])
    candidate = _policies(job["candidate"])
    assert candidate is not None
    replayer = Replayer(candidate, _policies(job["baseline"]), job["revision"], job["when"])
    # Decisions leave no circles behind that are worth looking for after every few of them.
    gc.freeze()
    gc.set_threshold(100_000)
    _send(b"")
    for batch in batches:
        _send(json.dumps(replayer.tally(io.BytesIO(batch), job["seconds"]).as_json()).encode())


def _send(payload: bytes) -> None:
    view = memoryview(len(payload).to_bytes(4, "little") + payload)
    while view:
        view = view[os.write(sys.stdout.fileno(), view) :]


if __name__ == "__main__":
    main()
