"""The registry: who provides which tool, under which names, right now (TOOL-3, TOOL-4, TOOL-5)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from interlock_gateway.config import ToolOverride
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.tool import PinState, ToolDefinition, contradiction
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.schema import InvalidSchemaError
from interlock_gateway.registry.effective import fact_arguments, floored, overridden
from interlock_gateway.registry.pins import Pin, PinCheck, PinStore, check_pin, make_pin
from interlock_gateway.registry.registered import RegisteredTool, register

GATEWAY_PROVIDER = "interlock"
"""The provider of the gateway's own tools; no other provider may take its name."""


@dataclass(frozen=True, slots=True)
class Trust:
    """How far a provider is believed: `floor` as in TOOL-3, `follow` as in `pins: follow` (TOOL-5)."""

    floor: bool = False
    follow: bool = False


@dataclass(frozen=True, slots=True)
class Registration:
    """What came of registering a provider's tools: those accepted, and a sentence for each problem."""

    tools: tuple[RegisteredTool, ...]
    problems: tuple[str, ...]


@dataclass(slots=True)
class _Owner:
    trust: Trust
    declared: tuple[ToolDefinition, ...]
    confirmed: bool
    tools: dict[str, RegisteredTool] = field(default_factory=dict)
    away: bool = False


class ToolRegistry:
    """Tools by name and alias. A lookup never waits; a change replaces the tables in one step."""

    def __init__(self, pins: PinStore, overrides: Mapping[str, ToolOverride], clock: Clock) -> None:
        self._pin_store = pins
        self._overrides = overrides
        self._clock = clock
        self._pins: dict[tuple[str, str], Pin] = {}
        self._confirmed: set[str] = set()
        self._owners: dict[str, _Owner] = {}
        self._by_name: dict[str, RegisteredTool] = {}
        self.generation = 0

    async def load(self) -> None:
        """Read the pins. Call once, before the first registration."""
        for pin in await self._pin_store.load_pins():
            self._pins[pin.provider, pin.tool] = pin

    def find(self, name: str) -> RegisteredTool | None:
        """The tool with this name or alias."""
        return self._by_name.get(name)

    def tools(self) -> tuple[RegisteredTool, ...]:
        """Every tool whose provider is there, in no promised order."""
        return tuple(tool for owner in self._owners.values() if not owner.away for tool in owner.tools.values())

    def tools_of(self, provider: str) -> tuple[RegisteredTool, ...]:
        """The tools of one provider."""
        owner = self._owners.get(provider)
        return tuple(owner.tools.values()) if owner else ()

    async def register(
        self, provider: str, definitions: Iterable[ToolDefinition], trust: Trust, *, confirmed: bool = False
    ) -> Registration:
        """Register or replace a provider's tools.

        A tool whose name or an alias belongs to somebody else is left out, and the problem names both owners. A
        definition that differs from its pin is registered in quarantine. Pins are durable before a tool is listed.
        """
        owner = _Owner(trust, tuple(definitions), confirmed or not trust.floor or provider in self._confirmed)
        problems: list[str] = []
        for definition in owner.declared:
            problems.extend(await self._admit(provider, owner, definition))
        self._owners[provider] = owner
        self._rebuild()
        return Registration(tuple(owner.tools.values()), tuple(problems))

    def unregister(self, provider: str) -> int:
        """Forget a provider's tools, whose names are free again; its pins stay. How many there were."""
        owner = self._owners.pop(provider, None)
        if owner is None:
            return 0
        self._rebuild()
        return len(owner.tools)

    def set_away(self, provider: str) -> None:
        """Take the tools of a provider that has gone out of the list (TOOL-5).

        Their names stay its own: a call to one is told that the provider is down, not that there is no such tool.
        """
        owner = self._owners.get(provider)
        if owner is not None and not owner.away:
            owner.away = True
            self.generation += 1

    async def approve_change(self, provider: str, tool: str, by: str) -> RegisteredTool:
        """Accept a quarantined definition as the new pin (TOOL-5)."""
        owner = self._owners.get(provider)
        registered = owner.tools.get(tool) if owner else None
        if owner is None or registered is None:
            raise RequestError(RequestFault.TOOL_NOT_FOUND, f"provider {provider} has no tool {tool}", field="tool")
        pin = make_pin(provider, registered.declared, registered.sha256, self._clock.now(), by)
        await self._keep(pin)
        state = PinState.PINNED if owner.confirmed else PinState.UNCONFIRMED
        owner.tools[tool] = self._registered(provider, owner, registered.declared, _accepted(pin.sha256, state))
        self._rebuild()
        return owner.tools[tool]

    async def confirm(self, provider: str, by: str) -> tuple[RegisteredTool, ...]:
        """Take what a provider declares as true, and pin it (TOOL-3)."""
        owner = self._owners.get(provider)
        if owner is None:
            raise RequestError(RequestFault.PROVIDER_NOT_FOUND, f"no provider {provider}", field="provider")
        self._confirmed.add(provider)
        owner.confirmed = True
        for name, tool in tuple(owner.tools.items()):
            await self._keep(make_pin(provider, tool.declared, tool.sha256, self._clock.now(), by))
            owner.tools[name] = self._registered(
                provider, owner, tool.declared, _accepted(tool.sha256, PinState.PINNED)
            )
        self._rebuild()
        return tuple(owner.tools.values())

    async def _admit(self, provider: str, owner: _Owner, definition: ToolDefinition) -> tuple[str, ...]:
        if clash := self._clash(provider, owner, definition):
            return (clash,)
        check = check_pin(
            definition,
            self._pins.get((provider, definition.name)),
            provider=provider,
            follow=owner.trust.follow,
            confirmed=owner.confirmed,
            now=self._clock.now(),
        )
        try:
            tool = self._registered(provider, owner, definition, check)
        except InvalidSchemaError as error:
            return (f"{definition.name} of {provider} is refused: its input schema is invalid: {error}",)
        if check.new_pin is not None:
            await self._keep(check.new_pin)
        owner.tools[definition.name] = tool
        note = contradiction(definition)
        return (note,) if note else ()

    def _registered(self, provider: str, owner: _Owner, declared: ToolDefinition, check: PinCheck) -> RegisteredTool:
        believed = declared if owner.confirmed else floored(declared)
        return register(
            provider=provider,
            declared=declared,
            effective=overridden(believed, self._overrides),
            sha256=check.sha256,
            pin_state=check.state,
            fact_arguments=fact_arguments(declared.name, self._overrides),
            changes=check.changes,
            pinned_sha256=check.pinned_sha256,
        )

    def _clash(self, provider: str, owner: _Owner, definition: ToolDefinition) -> str | None:
        if not definition.name:
            return f"a tool of {provider} is refused: it has no name"
        own = {name for tool in owner.tools.values() for name in (tool.name, *tool.definition.aliases)}
        for name in (definition.name, *definition.aliases):
            other = self._by_name.get(name)
            if other is not None and other.provider != provider:
                return (
                    f"{definition.name} of {provider} is refused: "
                    f"the name {name} belongs to {other.name} of {other.provider}"
                )
            if name in own:
                return f"{definition.name} of {provider} is refused: {provider} uses the name {name} twice"
        return None

    async def _keep(self, pin: Pin) -> None:
        await self._pin_store.save_pin(pin)
        self._pins[pin.provider, pin.tool] = pin

    def _rebuild(self) -> None:
        table: dict[str, RegisteredTool] = {}
        for owner in self._owners.values():
            for tool in owner.tools.values():
                for name in (tool.name, *tool.definition.aliases):
                    table.setdefault(name, tool)
        self._by_name = table
        self.generation += 1

    def restore_consents(self, providers: Iterable[str]) -> None:
        """Remember which providers an operator confirmed in an earlier run (TOOL-3)."""
        self._confirmed.update(providers)


def _accepted(sha256: str, state: PinState) -> PinCheck:
    return PinCheck(sha256, state, pinned_sha256=sha256)
