"""Clients of operators and approvers: `AdminService` and `ApprovalService` of the contract.

They share the connection of a `Gateway` or a `SyncGateway`, and hand out the contract's own messages:

    async with Gateway(token=...) as gateway:
        for provider in await Admin(gateway).providers():
            print(provider.name)
"""

from interlock import _operator_flows as flows
from interlock._drivers import AsyncDriver, SyncDriver
from interlock._facade import async_items, awaited, called, items
from interlock._gateway import Gateway, SyncGateway
from interlock._operator_flows import OperatorCore

__all__ = ["Admin", "Approvals", "SyncAdmin", "SyncApprovals"]


class _AsyncOperator(OperatorCore):
    __slots__ = ("driver",)
    driver: AsyncDriver

    def __init__(self, gateway: Gateway, *, timeout: float | None = None) -> None:
        super().__init__(timeout or gateway.timeout)
        object.__setattr__(self, "driver", gateway.driver)


class _SyncOperator(OperatorCore):
    __slots__ = ("driver",)
    driver: SyncDriver

    def __init__(self, gateway: SyncGateway, *, timeout: float | None = None) -> None:
        super().__init__(timeout or gateway.timeout)
        object.__setattr__(self, "driver", gateway.driver)


class Admin(_AsyncOperator):
    """What operators do: policies, providers and their tools, sessions, the audit."""

    __slots__ = ()

    status = awaited(flows.status)
    policy_status = awaited(flows.policy_status)
    reload_policy = awaited(flows.reload_policy)
    set_shadow_policy = awaited(flows.set_shadow_policy)
    shadow_differences = awaited(flows.shadow_differences)
    providers = awaited(flows.providers)
    register_provider = awaited(flows.register_provider)
    unregister_provider = awaited(flows.unregister_provider)
    provider_tools = awaited(flows.provider_tools)
    confirm_provider_tools = awaited(flows.confirm_provider_tools)
    approve_tool_change = awaited(flows.approve_tool_change)
    sessions = awaited(flows.sessions)
    session_report = awaited(flows.session_report)
    receipts = async_items(flows.receipts)
    export_receipts = async_items(flows.export_receipts)


class SyncAdmin(_SyncOperator):
    """What operators do: policies, providers and their tools, sessions, the audit; for threads."""

    __slots__ = ()

    status = called(flows.status)
    policy_status = called(flows.policy_status)
    reload_policy = called(flows.reload_policy)
    set_shadow_policy = called(flows.set_shadow_policy)
    shadow_differences = called(flows.shadow_differences)
    providers = called(flows.providers)
    register_provider = called(flows.register_provider)
    unregister_provider = called(flows.unregister_provider)
    provider_tools = called(flows.provider_tools)
    confirm_provider_tools = called(flows.confirm_provider_tools)
    approve_tool_change = called(flows.approve_tool_change)
    sessions = called(flows.sessions)
    session_report = called(flows.session_report)
    receipts = items(flows.receipts)
    export_receipts = items(flows.export_receipts)


class Approvals(_AsyncOperator):
    """What approvers do: look at checkpoints, watch them, decide them."""

    __slots__ = ()

    checkpoints = awaited(flows.checkpoints)
    checkpoint = awaited(flows.checkpoint)
    watch = async_items(flows.watch)
    approve = awaited(flows.approve)
    deny = awaited(flows.deny)
    edit = awaited(flows.edit)
    respond = awaited(flows.respond)


class SyncApprovals(_SyncOperator):
    """What approvers do: look at checkpoints, watch them, decide them; for threads."""

    __slots__ = ()

    checkpoints = called(flows.checkpoints)
    checkpoint = called(flows.checkpoint)
    watch = items(flows.watch)
    approve = called(flows.approve)
    deny = called(flows.deny)
    edit = called(flows.edit)
    respond = called(flows.respond)
