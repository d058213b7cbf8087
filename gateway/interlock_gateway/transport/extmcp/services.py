"""The MCP servers of other gateways: which there are, and what they have, from the lists that pass (TOOL-4, TOOL-5)."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock_gateway.config_extmcp import ExtMcpConfig
from interlock_gateway.config_providers import ProviderConfig
from interlock_gateway.core.session import Session, circle_of
from interlock_gateway.core.tool import PinState, ToolDefinition
from interlock_gateway.errors import ProviderFailedError, RequestError, RequestFault
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.resolve_tool import visible
from interlock_gateway.providers.directory import Connection, Directory
from interlock_gateway.providers.kept import Described
from interlock_gateway.providers.mcp.definitions import definition_of
from interlock_gateway.providers.mcp.passing import passing_tools
from interlock_gateway.registry.catalog import listed
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.transport.extmcp.listed_names import owners_in
from interlock_gateway.transport.extmcp.proxied import ProxiedProvider
from interlock_gateway.transport.mcp.tools import annotations_of, tool_of

MAX_SERVICES = 256
MAX_TOOLS = 2000
REVISION = "2025-06-18"
"""As of which revision of MCP a tool in quarantine is shown: what later ones have besides may not be known there."""
_SERVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,62}")


@dataclass(slots=True)
class Service:
    """One MCP server, and the definitions seen of it so far: nobody says which part of a list a page is."""

    name: str
    connection: Connection
    seen: dict[str, ToolDefinition] = field(default_factory=dict)
    listing: asyncio.Lock = field(default_factory=asyncio.Lock)


class Services:
    """Those there are, each as a provider of the circle that its gateway speaks for."""

    def __init__(self, config: ExtMcpConfig, parts: Parts, directory: Directory) -> None:
        self._config = config
        self._parts = parts
        self._directory = directory
        self._services: dict[tuple[str, str], Service] = {}

    def named(self, owner: str, name: str) -> Service:
        """The server with this name behind the gateway that speaks for `owner`. Raises `RequestError`."""
        circle = circle_of(owner)
        found = self._services.get((circle, name))
        if found is not None:
            return found
        if not _SERVICE.fullmatch(name):
            raise RequestError(RequestFault.INVALID_FIELD, "the name of the MCP server cannot be one of ours")
        if len(self._services) >= MAX_SERVICES:
            raise RequestError(RequestFault.LIMIT_REACHED, f"there are {MAX_SERVICES} MCP servers already")
        provider = ProxiedProvider(f"{circle}/{name}", self._config.answer_s)
        spec = ProviderConfig.model_construct(
            name=provider.name, address="", trust=self._config.trust, pins=self._config.pins
        )
        connection = self._directory.adopt(spec, provider, only_for=circle)
        self._parts.registry.pass_on(provider.name, _passing(provider.name))
        made = self._services[circle, name] = Service(name, connection)
        return made

    async def shown(self, session: Session, names: Sequence[str], tools: Any) -> list[dict[str, Any]]:
        """A list of tools as `session` may see it, once their definitions are looked at.

        A definition that has changed is in quarantine from now on, and what is shown of it is what was accepted.
        """
        if not isinstance(tools, list) or not all(isinstance(one, dict) for one in tools):
            raise RequestError(RequestFault.INVALID_FIELD, "the list of tools is none")
        owners = owners_in([one.get("name") for one in tools], names, self._config.prefix_mode)
        placed = [(one, self._placed(session.owner, owner)) for one, owner in zip(tools, owners, strict=True)]
        for service in {id(at[0]): at[0] for _, at in placed if at is not None}.values():
            await self._take_in(service, [(one, at[1]) for one, at in placed if at is not None and at[0] is service])
        shown = []
        for one, at in placed:
            tool = self._parts.registry.find(f"{at[0].name}/{at[1]}", session.owner) if at is not None else None
            if tool is not None and at is not None and visible(tool, session) and _is_of(tool, at[0]):
                shown.append(self._as_shown(tool, one))
        return shown

    def _placed(self, owner: str, of: tuple[str, str] | None) -> tuple[Service, str] | None:
        return (self.named(owner, of[0]), of[1]) if of is not None else None

    async def _take_in(self, service: Service, tools: list[tuple[dict[str, Any], str]]) -> None:
        async with service.listing:
            seen, problems = dict(service.seen), []
            for tool, name in tools:
                try:
                    seen[name] = definition_of({**tool, "name": name}, f"{service.name}/")
                except ProviderFailedError as error:
                    seen.pop(name, None)
                    problems.append(f"{name} of {service.connection.spec.name} is refused: {error.message}")
            if len(seen) > MAX_TOOLS:
                raise RequestError(RequestFault.LIMIT_REACHED, f"{service.name} has more than {MAX_TOOLS} tools")
            if seen != service.seen or service.connection.connected_since is None:
                described = Described("", tuple(seen.values()), tuple(problems), _passing(service.connection.spec.name))
                await self._directory.take_in(service.connection, described)
                service.seen = seen

    def _as_shown(self, tool: RegisteredTool, given: dict[str, Any]) -> dict[str, Any]:
        """The tool as it came, but for what holds of it here; one in quarantine as it was accepted, and no more."""
        item = listed(tool, self._parts.settings.confidence_field)
        if tool.pin_state is PinState.CHANGED:
            return {**tool_of(item, REVISION, {}), "name": given["name"]}
        annotations = annotations_of(item, given.get("annotations"))
        return {**given, "description": item.description, "annotations": annotations}


def _passing(provider: str) -> tuple[ToolDefinition, ...]:
    """What is called for resources and prompts; whether the server has any is its own to say."""
    has: dict[str, object] = {"resources": {}, "prompts": {}}
    return passing_tools(provider, has.keys(), has)


def _is_of(tool: RegisteredTool, service: Service) -> bool:
    return tool.provider == service.connection.spec.name
