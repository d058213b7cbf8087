"""`AdminService`: what operators and auditors call. Each handler decodes, calls once, and encodes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from interlock.v1 import admin_service_pb2 as pb
from interlock.v1 import policy_pb2, registry_pb2

from interlock_gateway.config_providers import ProviderCredentialsConfig
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.session import Session
from interlock_gateway.operate.census import Census
from interlock_gateway.operate.confirm import Confirmations
from interlock_gateway.operate.policy_keeper import PolicyKeeper
from interlock_gateway.operate.report import summarize
from interlock_gateway.operate.session_counts import counts_of
from interlock_gateway.operate.shadow_keeper import ShadowKeeper
from interlock_gateway.operate.status import GatewayState
from interlock_gateway.pipeline.ports import StateStore
from interlock_gateway.providers.directory import Connection, Directory
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.registry.registry import ToolRegistry
from interlock_gateway.sessions.book import SessionBook
from interlock_gateway.transport.grpc import encode_admin, encode_shadow
from interlock_gateway.transport.grpc.decode_provider import provider_config
from interlock_gateway.transport.grpc.endpoint import Caller, Rpc
from interlock_gateway.transport.grpc.paging import page_of

FIRST_CONTACT_S = 3.0
"""How long `RegisterProvider` waits for a provider's first description."""


@dataclass(frozen=True, slots=True)
class AdminParts:
    """What the admin service needs."""

    clock: Clock
    store: StateStore
    sessions: SessionBook
    registry: ToolRegistry
    directory: Directory
    confirmations: Confirmations
    policy: PolicyKeeper
    shadow: ShadowKeeper
    provider_credentials: Mapping[str, ProviderCredentialsConfig]
    state: Callable[[], GatewayState]
    census: Census
    threshold_of: Callable[[Session], int]
    redact: Callable[[str], str]


class AdminRpcs:
    """The handlers of `AdminService` that this gateway serves."""

    def __init__(self, parts: AdminParts) -> None:
        self._parts = parts

    def rpcs(self) -> dict[str, Rpc]:
        """The served RPCs by name."""
        return {
            "GetStatus": Rpc(pb.GetStatusRequest, pb.GetStatusResponse, unary=self.get_status),
            "GetPolicyStatus": Rpc(pb.GetPolicyStatusRequest, pb.GetPolicyStatusResponse, unary=self.policy_status),
            "ReloadPolicy": Rpc(pb.ReloadPolicyRequest, pb.ReloadPolicyResponse, unary=self.reload_policy),
            "SetShadowPolicy": Rpc(pb.SetShadowPolicyRequest, pb.SetShadowPolicyResponse, unary=self.set_shadow),
            "ListShadowDifferences": Rpc(
                pb.ListShadowDifferencesRequest, pb.ListShadowDifferencesResponse, unary=self.shadow_differences
            ),
            "ListProviders": Rpc(pb.ListProvidersRequest, pb.ListProvidersResponse, unary=self.list_providers),
            "RegisterProvider": Rpc(pb.RegisterProviderRequest, pb.RegisterProviderResponse, unary=self.register),
            "UnregisterProvider": Rpc(
                pb.UnregisterProviderRequest, pb.UnregisterProviderResponse, unary=self.unregister
            ),
            "ListProviderTools": Rpc(pb.ListProviderToolsRequest, pb.ListProviderToolsResponse, unary=self.list_tools),
            "ConfirmProviderTools": Rpc(
                pb.ConfirmProviderToolsRequest, pb.ConfirmProviderToolsResponse, unary=self.confirm
            ),
            "ApproveToolChange": Rpc(pb.ApproveToolChangeRequest, pb.ApproveToolChangeResponse, unary=self.approve),
            "ListSessions": Rpc(pb.ListSessionsRequest, pb.ListSessionsResponse, unary=self.list_sessions),
            "GetSessionReport": Rpc(pb.GetSessionReportRequest, pb.GetSessionReportResponse, unary=self.report),
        }

    async def get_status(self, caller: Caller, request: pb.GetStatusRequest) -> pb.GetStatusResponse:
        """How the gateway is."""
        del caller, request
        return pb.GetStatusResponse(status=encode_admin.status(self._parts.state(), await self._parts.census.count()))

    async def policy_status(self, caller: Caller, request: pb.GetPolicyStatusRequest) -> pb.GetPolicyStatusResponse:
        """The policy in force."""
        del caller, request
        return pb.GetPolicyStatusResponse(policy=self._policy_status())

    async def reload_policy(self, caller: Caller, request: pb.ReloadPolicyRequest) -> pb.ReloadPolicyResponse:
        """Load the configured policies again, or only check them."""
        del caller
        outcome = await self._parts.policy.reload(check_only=request.check_only, allow_older=request.allow_older)
        return pb.ReloadPolicyResponse(reload=encode_admin.policy_reload(outcome), policy=self._policy_status())

    async def set_shadow(self, caller: Caller, request: pb.SetShadowPolicyRequest) -> pb.SetShadowPolicyResponse:
        """Set the candidate that is evaluated beside the policies in force, or clear it."""
        del caller
        if not request.source:
            await self._parts.shadow.clear()
            return pb.SetShadowPolicyResponse(policy=self._policy_status())
        outcome = await self._parts.shadow.choose(request.source)
        return pb.SetShadowPolicyResponse(reload=encode_admin.policy_reload(outcome), policy=self._policy_status())

    async def shadow_differences(
        self, caller: Caller, request: pb.ListShadowDifferencesRequest
    ) -> pb.ListShadowDifferencesResponse:
        """What the candidate would have decided otherwise, latest first."""
        del caller
        found = self._parts.shadow.differences.latest()
        page, token = page_of(found, request.page_size, request.page_token)
        differences = [encode_shadow.difference(one) for one in page]
        return pb.ListShadowDifferencesResponse(differences=differences, next_page_token=token)

    async def list_providers(self, caller: Caller, request: pb.ListProvidersRequest) -> pb.ListProvidersResponse:
        """The providers and the state of their connections."""
        del caller
        page, token = page_of(self._parts.directory.connections(), request.page_size, request.page_token)
        return pb.ListProvidersResponse(providers=[self._info(item) for item in page], next_page_token=token)

    async def register(self, caller: Caller, request: pb.RegisterProviderRequest) -> pb.RegisterProviderResponse:
        """Begin to keep a provider, until the gateway stops or it is unregistered (TOOL-4)."""
        del caller
        spec = provider_config(request.spec, self._parts.provider_credentials)
        connection = self._parts.directory.add(spec, configured=False)
        await self._parts.directory.settled(FIRST_CONTACT_S, connection)
        return pb.RegisterProviderResponse(provider=self._info(connection))

    async def unregister(self, caller: Caller, request: pb.UnregisterProviderRequest) -> pb.UnregisterProviderResponse:
        """Drop a provider and its tools."""
        del caller
        return pb.UnregisterProviderResponse(removed_tools=await self._parts.directory.remove(request.provider))

    async def list_tools(self, caller: Caller, request: pb.ListProviderToolsRequest) -> pb.ListProviderToolsResponse:
        """One provider's tools, or all: as declared, as they hold, and how they stand to their pins."""
        del caller
        registry, wanted = self._parts.registry, request.provider
        tools = registry.tools_of(wanted) if wanted else registry.all_tools()
        page, token = page_of(sorted(tools, key=lambda tool: tool.name), request.page_size, request.page_token)
        return pb.ListProviderToolsResponse(tools=[self._tool(tool) for tool in page], next_page_token=token)

    async def confirm(self, caller: Caller, request: pb.ConfirmProviderToolsRequest) -> pb.ConfirmProviderToolsResponse:
        """Take what a provider declares as true (TOOL-3)."""
        seen = {pin.tool: pin.hash for pin in request.pins}
        tools = await self._parts.confirmations.confirm(caller.principal, request.provider, seen, request.reason)
        return pb.ConfirmProviderToolsResponse(tools=[self._tool(tool) for tool in tools])

    async def approve(self, caller: Caller, request: pb.ApproveToolChangeRequest) -> pb.ApproveToolChangeResponse:
        """Accept a changed definition (TOOL-5)."""
        pin = request.pin
        tool = await self._parts.confirmations.approve(caller.principal, request.provider, pin.tool, pin.hash)
        return pb.ApproveToolChangeResponse(tool=self._tool(tool))

    async def list_sessions(self, caller: Caller, request: pb.ListSessionsRequest) -> pb.ListSessionsResponse:
        """Sessions, last opened first."""
        del caller
        size = min(request.page_size or 50, 500)
        parts = self._parts
        wanted = encode_admin.wanted_sessions(request)
        found = await parts.store.sessions.list_sessions(size + 1, request.page_token or None, wanted)
        page = found[:size]
        counts = await counts_of(parts.store, parts.sessions, page, parts.clock.now())
        sessions = [
            encode_admin.session_record(record, parts.threshold_of(record), counts[record.session_id])
            for record in page
        ]
        token = page[-1].session_id if len(found) > size else ""
        return pb.ListSessionsResponse(sessions=sessions, next_page_token=token)

    async def report(self, caller: Caller, request: pb.GetSessionReportRequest) -> pb.GetSessionReportResponse:
        """What one session did."""
        del caller
        now = self._parts.clock.now()
        summary = await summarize(self._parts.store, self._parts.sessions, request.session_id, now)
        threshold = self._parts.threshold_of(summary.session)
        return pb.GetSessionReportResponse(report=encode_admin.session_report(summary, threshold, now))

    def _policy_status(self) -> policy_pb2.PolicyStatus:
        return encode_admin.policy_status(
            self._parts.policy, encode_shadow.status(self._parts.shadow), self._parts.clock.now()
        )

    def _tool(self, tool: RegisteredTool) -> registry_pb2.ProviderTool:
        return encode_admin.provider_tool(tool, self._parts.registry.accepted(tool.provider, tool.name))

    def _info(self, connection: Connection) -> registry_pb2.ProviderInfo:
        tools = self._parts.registry.tools_of(connection.spec.name)
        return encode_admin.provider_info(connection, tools, self._parts.redact, self._parts.clock.now())
