"""The room as the gateway is built with it: the desk, the watches, and what approvers are shown of a session's past."""

from dataclasses import dataclass

from interlock_gateway.approvals.desk import ApprovalDesk
from interlock_gateway.approvals.history import SessionHistory
from interlock_gateway.approvals.watches import Watches


@dataclass(frozen=True, slots=True)
class ApprovalRoom:
    """What the pipeline (`desk`), the approval service and the housekeeping need of the approvers' side."""

    desk: ApprovalDesk
    watches: Watches
    history: SessionHistory
