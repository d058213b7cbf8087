"""What another replica does to a call of this one, done by hand in the moment in which it would."""

from typing import Any

import pytest
from gateway_bench import Bench
from interlock_gateway.core.call import CallState
from interlock_gateway.core.operation import OperationState
from interlock_gateway.state.store import SqlStateStore


def taken_for_dead(at: Bench, patched: pytest.MonkeyPatch) -> None:
    """Let the gateway lose its lease once its intent is written, and have the call be called unknown before it ends."""
    calls = at.gateway.rooms.store.calls
    finish = calls.finish_call

    async def called_unknown(
        session_id: str, call_id: str, operation_id: str, call: CallState, operation: OperationState, **ending: Any
    ) -> None:
        unknown = (CallState.OUTCOME_UNKNOWN, OperationState.OUTCOME_UNKNOWN)
        await finish(session_id, call_id, operation_id, *unknown, now=ending["now"])
        await finish(session_id, call_id, operation_id, call, operation, **ending)

    patched.setattr(SqlStateStore, "stands", property(lambda _: False))
    patched.setattr(calls, "finish_call", called_unknown)
