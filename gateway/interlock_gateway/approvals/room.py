"""The room as the gateway is built with it: the desk, the watches, the webhooks, and how a session's past is shown."""

from dataclasses import dataclass, field

from interlock_gateway.approvals.at_clients import AtClients
from interlock_gateway.approvals.desk import ApprovalDesk
from interlock_gateway.approvals.history import SessionHistory
from interlock_gateway.approvals.watches import Watches
from interlock_gateway.approvals.webhooks.targets import Webhook


@dataclass(frozen=True, slots=True)
class ApprovalRoom:
    """What the pipeline (`desk`), the approval service and the housekeeping need of the approvers' side."""

    desk: ApprovalDesk
    watches: Watches
    history: SessionHistory
    webhooks: tuple[Webhook, ...] = ()
    people: AtClients = field(default_factory=lambda: AtClients(()))
