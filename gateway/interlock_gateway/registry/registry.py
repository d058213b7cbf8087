"""The registry: who provides which tool, under which names, right now (TOOL-3, TOOL-4, TOOL-5)."""

import asyncio
import json
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from interlock_gateway.config import ToolOverride
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.session import circle_of
from interlock_gateway.core.tool import PinState, ToolDefinition, contradiction
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.input_schema import InputSchema
from interlock_gateway.pipeline.schemas_aside import SchemasAside
from interlock_gateway.registry.effective import classified_by_operator, fact_arguments, floored, overridden
from interlock_gateway.registry.fingerprint import definition_of, fingerprint, same_definition
from interlock_gateway.registry.names import bad_name
from interlock_gateway.registry.pins import Pin, PinCheck, PinStore, check_pin, make_pin
from interlock_gateway.registry.registered import RegisteredTool, register
from interlock_gateway.registry.schemas import Schemas, schema_of

GATEWAY_PROVIDER = "interlock"
"""The provider of the gateway's own tools; no other provider may take its name."""
_ADMITTED_AT_ONCE = 20
_CHANGED_SINCE_SHOWN = "what the provider declares has changed since it was shown; look again"


@dataclass(frozen=True, slots=True)
class Trust:
    """How far a provider is believed: `floor` as in TOOL-3, `follow` as in `pins: follow` (TOOL-5).

    `only_for` is the circle of whose sessions its tools are there for (`circle_of`), empty for everybody's.
    """

    floor: bool = False
    follow: bool = False
    only_for: str = ""


@dataclass(frozen=True, slots=True)
class Registration:
    """What came of registering a provider's tools: those accepted, and a sentence for each problem."""

    tools: tuple[RegisteredTool, ...]
    problems: tuple[str, ...]


@dataclass(slots=True)
class _Owner:
    trust: Trust
    declared: tuple[ToolDefinition, ...]
    tools: dict[str, RegisteredTool] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    new_pins: list[Pin] = field(default_factory=list)
    away: bool = False


class ToolRegistry:
    """Tools by name and alias. A lookup never waits; a change replaces the tables in one step.

    A name is one tool's for everybody. Tools that are there for one circle alone have their names there and nowhere
    else, and never one that is somebody's for everybody: nobody's own tool stands in for one of the operator's.

    Changes happen one after the other: each waits for the disk, and two at once could both take one name, or accept a
    definition that was replaced while it was looked at.
    """

    def __init__(
        self, pins: PinStore, overrides: Mapping[str, ToolOverride], clock: Clock, schemas: SchemasAside
    ) -> None:
        self.schemas = schemas
        self._pin_store = pins
        self._overrides = overrides
        self._clock = clock
        self._pins: dict[tuple[str, str], Pin] = {}
        self._consents: dict[str, dict[str, str]] = {}
        self._changing = asyncio.Lock()
        self._registering: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._owners: dict[str, _Owner] = {}
        self._by_name: dict[str, RegisteredTool] = {}
        self._private: dict[str, dict[str, RegisteredTool]] = {}
        self._passed: dict[str, dict[str, RegisteredTool]] = {}
        self.generation = 0
        self._told: dict[object, Callable[[], None]] = {}

    async def load(self) -> None:
        """Read the pins. Call once, before the first registration."""
        for pin in await self._pin_store.load_pins():
            self._pins[pin.provider, pin.tool] = pin

    async def reread(self) -> None:
        """Read the pins again: another gateway may have kept some of what is about to be registered here."""
        async with self._changing:
            await self.load()

    def find(self, name: str, owner: str = "") -> RegisteredTool | None:
        """The tool with this name or alias, as it is there for the sessions of principal `owner`."""
        found = self._by_name.get(name)
        if found is None and self._private:
            found = self._private.get(circle_of(owner), {}).get(name)
        return found

    def tool_of(self, provider: str, name: str) -> RegisteredTool | None:
        """The tool of one provider with this name, no alias."""
        owner = self._owners.get(provider)
        found = owner.tools.get(name) if owner is not None else None
        return found if found is not None else self._passed.get(provider, {}).get(name)

    def tools(self) -> tuple[RegisteredTool, ...]:
        """Every tool whose provider is there and that is what its name finds, in no promised order.

        A private tool is not, once there is one for everybody with its name: shown, its words would be read for that.
        """
        there = (tool for owner in self._owners.values() if not owner.away for tool in owner.tools.values())
        return tuple(tool for tool in there if self._by_name.get(tool.name, tool) is tool)

    def all_tools(self) -> tuple[RegisteredTool, ...]:
        """Every tool, those of providers that have gone too, but not the gateway's own."""
        owners = tuple(self._owners.items())  # metrics are read on another thread
        return tuple(tool for name, owner in owners if name != GATEWAY_PROVIDER for tool in owner.tools.values())

    def tools_of(self, provider: str) -> tuple[RegisteredTool, ...]:
        """The tools of one provider."""
        owner = self._owners.get(provider)
        return tuple(owner.tools.values()) if owner else ()

    async def register(self, provider: str, definitions: Iterable[ToolDefinition], trust: Trust) -> Registration:
        """Register or replace a provider's tools.

        A tool whose name or an alias belongs to somebody else is left out, and the problem names both owners. A
        definition that differs from its pin is registered in quarantine. Pins are durable before a tool is listed.
        """
        declared = tuple(definitions)
        schemas = Schemas(self.schemas, provider)
        async with self._registering.setdefault(provider, asyncio.Lock()):
            await schemas.read(declared, self.tools_of(provider))  # it may take seconds, for which nobody else waits
            return await self._register(provider, declared, trust, schemas)

    async def _register(
        self, provider: str, declared: tuple[ToolDefinition, ...], trust: Trust, schemas: Schemas
    ) -> Registration:
        async with self._changing:
            owner = _Owner(trust, declared)
            known = self._known(provider, trust)
            problems: list[str] = []
            for number, definition in enumerate(owner.declared):
                if number % _ADMITTED_AT_ONCE == 0:
                    await asyncio.sleep(0)  # calls go on while thousands of tools are looked at
                problems.extend(self._admit(provider, owner, definition, known.get(definition.name), schemas))
            for start in range(0, len(owner.new_pins), _ADMITTED_AT_ONCE):
                await asyncio.gather(*map(self._keep, owner.new_pins[start : start + _ADMITTED_AT_ONCE]))
            self._owners[provider] = owner
            self._rebuild()
            return Registration(tuple(owner.tools.values()), tuple(problems))

    def pass_on(self, provider: str, definitions: tuple[ToolDefinition, ...]) -> None:
        """Have calls go to what else there is of a provider, under names that are listed nowhere and nobody else's.

        These definitions are the gateway's: nothing in them is the provider's word, so they are neither pinned nor
        floored. What operators say of a name holds for them too.
        """
        known = self._passed.get(provider, {})
        if tuple(tool.declared for tool in known.values()) == definitions:
            return
        self._passed[provider] = {one.name: self._own(provider, one) for one in definitions}
        self._rebuild()

    def _own(self, provider: str, declared: ToolDefinition) -> RegisteredTool:
        return register(
            provider=provider,
            declared=declared,
            effective=overridden(declared, self._overrides),
            schema=schema_of(declared, self.schemas),
            sha256=fingerprint(declared),
            pin_state=PinState.PINNED,
            fact_arguments=fact_arguments(declared.name, self._overrides),
            passed=True,
        )

    def unregister(self, provider: str) -> int:
        """Forget a provider's tools, whose names are free again; its pins stay. How many there were."""
        self._passed.pop(provider, None)
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
            self._changed()

    async def approve_change(self, provider: str, tool: str, sha256: str, by: str) -> RegisteredTool:
        """Accept a quarantined definition, the one with hash `sha256`, as the new pin (TOOL-5).

        Raises `RequestError`: no such tool, or its definition is another one by now.
        """
        async with self._changing:
            owner = self._owners.get(provider)
            registered = owner.tools.get(tool) if owner else None
            if owner is None or registered is None:
                raise RequestError(RequestFault.TOOL_NOT_FOUND, f"{provider} has no tool {tool}", field="pin.tool")
            if registered.sha256 != sha256:
                raise RequestError(RequestFault.STALE_CONFIRMATION, _CHANGED_SINCE_SHOWN, field="pin.hash")
            await self._keep(make_pin(provider, registered.declared, sha256, self._clock.now(), by))
            owner.tools[tool] = self._repinned(provider, owner, registered)
            self._rebuild()
            return owner.tools[tool]

    async def confirm(
        self, provider: str, seen: Mapping[str, str], by: str, record: Callable[[], Awaitable[None]]
    ) -> tuple[RegisteredTool, ...]:
        """Take what a provider declares as true, and pin it (TOOL-3). `seen` holds the hash of each tool by name.

        `record` keeps the consent, before it takes effect. Raises `RequestError`: no such provider, or one of these
        tools is not there with this definition any more.
        """
        async with self._changing:
            owner = self._owners.get(provider)
            if owner is None:
                raise RequestError(RequestFault.PROVIDER_NOT_FOUND, f"no provider {provider}", field="provider")
            if any(tool not in owner.tools or owner.tools[tool].sha256 != sha256 for tool, sha256 in seen.items()):
                raise RequestError(RequestFault.STALE_CONFIRMATION, _CHANGED_SINCE_SHOWN, field="pins")
            await record()
            self._consents.setdefault(provider, {}).update(seen)
            for name, sha256 in seen.items():
                registered = owner.tools[name]
                await self._keep(make_pin(provider, registered.declared, sha256, self._clock.now(), by))
                owner.tools[name] = self._repinned(provider, owner, registered)
            self._rebuild()
            return tuple(owner.tools[name] for name in seen)

    def accepted(self, provider: str, tool: str) -> Pin | None:
        """The pin of a tool, when a person accepted it."""
        pin = self._pins.get((provider, tool))
        return pin if pin is not None and pin.by_a_person else None

    def pinned_bytes(self, principal_id: str) -> int:
        """How large the pins of a principal's attached providers are: `PRINCIPAL/NAME`, with no `/` in the name.

        A principal may have one in its id, and so begin as another's provider does.
        """
        pins = (pin for (provider, _), pin in self._pins.items() if provider.rpartition("/")[0] == principal_id)
        return sum(len(pin.definition_json) for pin in pins)

    def _known(self, provider: str, trust: Trust) -> dict[str, RegisteredTool]:
        """What is registered of a provider that is trusted as before."""
        owner = self._owners.get(provider)
        return owner.tools if owner is not None and owner.trust == trust else {}

    def _admit(
        self,
        provider: str,
        owner: _Owner,
        definition: ToolDefinition,
        known: RegisteredTool | None,
        schemas: Schemas,
    ) -> tuple[str, ...]:
        if problem := bad_name(definition) or self._clash(provider, owner, definition):
            return (f"{definition.name} of {provider} is refused: {problem}",)
        if known is not None and same_definition(known.declared, definition):
            tool = known  # asked again from time to time, most providers say what they said before
        else:
            schema = schemas.found(definition)
            if isinstance(schema, str):
                return (f"{definition.name} of {provider} is refused: {schema}",)
            check = self._checked(provider, owner, definition)
            tool = self._registered(provider, owner, definition, check, schema)
            if check.new_pin is not None:
                owner.new_pins.append(check.new_pin)
        owner.tools[definition.name] = tool
        owner.names.update((definition.name, *definition.aliases))
        notes = (contradiction(definition), tool.schema.note(f"{definition.name} of {provider}"))
        return tuple(note for note in notes if note)

    def _checked(self, provider: str, owner: _Owner, definition: ToolDefinition) -> PinCheck:
        return check_pin(
            definition,
            self._pins.get((provider, definition.name)),
            provider=provider,
            follow=owner.trust.follow,
            now=self._clock.now(),
        )

    def _repinned(self, provider: str, owner: _Owner, tool: RegisteredTool) -> RegisteredTool:
        check = self._checked(provider, owner, tool.declared)
        return self._registered(provider, owner, tool.declared, check, tool.schema)

    def _registered(
        self, provider: str, owner: _Owner, declared: ToolDefinition, check: PinCheck, schema: InputSchema
    ) -> RegisteredTool:
        believed = not owner.trust.floor or self._confirmed(provider, declared.name, check.sha256)
        by_operator = classified_by_operator(declared.name, self._overrides)
        proposal = declared if believed else floored(declared, keep_class=not by_operator)
        state = check.state
        if state is PinState.PINNED and not believed and not by_operator:
            state = PinState.UNCONFIRMED
        return register(
            provider=provider,
            declared=declared,
            effective=overridden(proposal, self._overrides),
            schema=schema,
            sha256=check.sha256,
            pin_state=state,
            fact_arguments=fact_arguments(declared.name, self._overrides),
            shown=self._last_accepted(provider, declared.name) if state is PinState.CHANGED else None,
            changes=check.changes,
            pinned_sha256=check.pinned_sha256,
            followed=owner.trust.follow and provider != GATEWAY_PROVIDER,
            only_for=owner.trust.only_for,
        )

    def _last_accepted(self, provider: str, tool: str) -> ToolDefinition:
        pinned = definition_of(json.loads(self._pins[provider, tool].definition_json))
        return overridden(floored(pinned), self._overrides)

    def _confirmed(self, provider: str, tool: str, sha256: str) -> bool:
        """Whether an operator consented to this very definition, or to an earlier one and then to its change."""
        consent = self._consents.get(provider, {}).get(tool)
        if consent is None or consent == sha256:
            return consent is not None
        pin = self.accepted(provider, tool)
        return pin is not None and pin.sha256 == sha256

    def _clash(self, provider: str, owner: _Owner, definition: ToolDefinition) -> str | None:
        private = self._private.get(owner.trust.only_for, {})
        for name in (definition.name, *definition.aliases):
            other = self._by_name.get(name) or private.get(name)
            if other is not None and other.provider != provider:
                return f"the name {name} belongs to {other.name} of {other.provider}"
            if name in owner.names:
                return f"{provider} uses the name {name} twice"
        return None

    async def _keep(self, pin: Pin) -> None:
        await self._pin_store.save_pin(pin)
        self._pins[pin.provider, pin.tool] = pin

    def _rebuild(self) -> None:
        table = {name: tool for passed in self._passed.values() for name, tool in passed.items()}
        private: dict[str, dict[str, RegisteredTool]] = {}
        for owner in self._owners.values():
            names = private.setdefault(owner.trust.only_for, {}) if owner.trust.only_for else table
            for tool in owner.tools.values():
                for name in (tool.name, *tool.definition.aliases):
                    names.setdefault(name, tool)
        self._by_name, self._private = table, private
        self._changed()

    def when_changed(self, tell: Callable[[], None]) -> Callable[[], object]:
        """Have `tell` called whenever there are other tools than before; returns how to end that."""
        key = object()
        self._told[key] = tell
        return lambda: self._told.pop(key, None)

    def _changed(self) -> None:
        self.generation += 1
        for tell in tuple(self._told.values()):
            tell()

    def restore_consents(self, consents: Iterable[tuple[str, Mapping[str, str]]]) -> None:
        """Remember what an operator confirmed in an earlier run: provider, and hashes by tool (TOOL-3)."""
        for provider, seen in consents:
            self._consents.setdefault(provider, {}).update(seen)
