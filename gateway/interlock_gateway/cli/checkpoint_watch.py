"""`interlock checkpoints watch` where no terminal is: a line for each event."""

import time
from collections.abc import Iterable

from interlock.admin import SyncApprovals
from interlock.v1 import approval_service_pb2 as pb

from interlock_gateway.cli.checkpoint_view import event_line
from interlock_gateway.cli.screen import Screen


def tell(approvals: SyncApprovals, groups: Iterable[str], screen: Screen) -> None:
    """Show every event until interrupted; to people no keepalive, but the first: from then on they are asked."""
    watching = False
    for told in approvals.watch(groups=groups):
        if screen.is_json or told.event != pb.CHECKPOINT_EVENT_KEEPALIVE:
            screen.line(told, event_line(told, time.time()))
        elif not watching:
            watching = True
            screen.hint("watching: from now on you are asked; Ctrl-C ends it")
