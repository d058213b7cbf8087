"""Who may attach tools, under which name, and for whose sessions they are there."""

import asyncio
import logging
import re
from collections import Counter
from dataclasses import dataclass

from interlock.v1 import tool_provider_service_pb2 as rpc

from interlock_gateway.config_attached import AttachedConfig, AttachedProviderConfig
from interlock_gateway.config_providers import ProviderConfig
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import InterlockError, RequestError, RequestFault
from interlock_gateway.http2.status import StatusError
from interlock_gateway.providers.attached.link import FrameLink
from interlock_gateway.providers.attached.provider import AttachedProvider
from interlock_gateway.providers.directory import Connection, Directory
from interlock_gateway.registry.registry import Registration, ToolRegistry

DESCRIPTION_BYTES = 1024 * 1024
PINNED_BYTES = 4 * 1024 * 1024
"""How much one principal's attached tools may have pinned: pins stay when tools go, and names are for nothing."""
ALIVE_S = 2.0
"""How long an attachment has to show that it is there when another one wants its name."""
AGAIN_S = 1.0
"""How often a provider's changed description is taken in."""
DEFAULT_NAME = "tools"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Attached:
    """A provider that is attached: under which name, with which tools, and which of its tools were refused and why."""

    principal_id: str
    connection: Connection
    provider: AttachedProvider
    tools: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    expiry: asyncio.TimerHandle | None


class Hub:
    """The attachments of this gateway."""

    def __init__(self, config: AttachedConfig, directory: Directory, registry: ToolRegistry, clock: Clock) -> None:
        self._config = config
        self._directory = directory
        self._registry = registry
        self._clock = clock
        self._attached: dict[str, Attached] = {}
        self._coming: Counter[str] = Counter()
        self._draining = False

    def __len__(self) -> int:
        return len(self._attached)

    async def attach(self, principal: Principal, told: rpc.DescribeResponse, link: FrameLink) -> Attached:
        """Take in a provider. Raises `RequestError`: not now, too many, a name that is malformed or taken."""
        if not self._config.enabled:
            raise RequestError(RequestFault.NOT_ENABLED, "the configuration lets nobody attach tools")
        name = f"{principal.id}/{_given_name(told)}"
        self._check_room(principal)
        self._coming[principal.id] += 1
        try:
            await self._free(name)
            return await self._taken_in(principal, name, told, link)
        finally:
            self._coming[principal.id] -= 1
            if not self._coming[principal.id]:
                del self._coming[principal.id]

    def detach(self, attached: Attached) -> None:
        """Its stream has ended: its tools are gone."""
        attached.provider.link.close()
        if attached.expiry is not None:
            attached.expiry.cancel()  # credentials may last for long, and attachments come and go
        name = attached.provider.name
        if self._attached.get(name) is attached:
            del self._attached[name]
            _log.info("provider detached", extra={"provider": name})
        self._directory.dismiss(attached.connection)

    async def follow(self, attached: Attached) -> None:
        """Take in what the provider describes anew, until cancelled. Ends its stream when that cannot be taken in."""
        while True:
            told = await attached.provider.link.told()
            try:
                self._check_size(attached.principal_id, told)
                await self._directory.take_in(attached.connection, await attached.provider.described(told))
            except InterlockError as error:
                fault = error.fault if isinstance(error, RequestError) else RequestFault.INVALID_FIELD
                attached.provider.link.close(RequestError(fault, error.message))
                return
            await asyncio.sleep(AGAIN_S)

    async def drain(self, grace_s: float) -> None:
        """Take no more attachments; end each once its requests under way have ended."""
        self._draining = True
        await asyncio.gather(*(one.provider.link.drain(grace_s) for one in tuple(self._attached.values())))

    def _check_room(self, principal: Principal) -> None:
        if self._draining:
            raise RequestError(RequestFault.DRAINING, "the gateway is shutting down")
        own = sum(one.principal_id == principal.id for one in self._attached.values()) + self._coming[principal.id]
        if own >= self._config.max_per_principal:
            words = f"a principal attaches at most {self._config.max_per_principal} providers"
            raise RequestError(RequestFault.LIMIT_REACHED, words)
        if len(self._attached) + self._coming.total() >= self._config.max_providers:
            words = f"{self._config.max_providers} providers are attached already"
            raise RequestError(RequestFault.LIMIT_REACHED, words)

    async def _free(self, name: str) -> None:
        """Return when nobody has `name`. Who has it and does not answer any more loses it. Raises `RequestError`."""
        there = self._attached.get(name)
        if there is None:
            return
        try:
            await there.provider.link.ask("describe", rpc.DescribeRequest(), ALIVE_S)
        except StatusError:
            _log.warning("an attachment did not answer, and made room for another", extra={"provider": name})
            self.detach(there)
            return
        raise RequestError(
            RequestFault.NAME_TAKEN, f"{name} is attached already, and answers", field="description.name"
        )

    async def _taken_in(self, principal: Principal, name: str, told: rpc.DescribeResponse, link: FrameLink) -> Attached:
        self._check_size(principal.id, told)
        provider = AttachedProvider(name, link)
        described = await provider.described(told)
        said = self._said_of(principal.id, name)
        spec = ProviderConfig.model_construct(name=name, address="", trust=said.trust, pins=said.pins)
        connection = self._directory.adopt(spec, provider, only_for="" if said.shared else principal.id)
        try:
            registration = await self._directory.take_in(connection, described)
        except BaseException:
            self._directory.dismiss(connection)
            raise
        if not link.open:
            self._directory.dismiss(connection)
            raise RequestError(RequestFault.CANCELLED, "the stream ended before its provider was taken in")
        tools = tuple(tool.name for tool in registration.tools)
        refused = _refused(told, registration, connection)
        expiry = self._end_with_credential(principal, link)
        attached = self._attached[name] = Attached(principal.id, connection, provider, tools, refused, expiry)
        return attached

    def _said_of(self, principal_id: str, name: str) -> AttachedProviderConfig:
        given = name.rpartition("/")[2]
        for entry in self._config.providers:
            if entry.principal == principal_id and entry.name in ("*", given):
                return entry
        return AttachedProviderConfig(principal=principal_id)

    def _check_size(self, principal_id: str, told: rpc.DescribeResponse) -> None:
        if told.ByteSize() > DESCRIPTION_BYTES:
            words = f"a description has at most {DESCRIPTION_BYTES} bytes"
            raise RequestError(RequestFault.TOO_LARGE, words, field="description")
        if self._registry.pinned_bytes(principal_id) + told.ByteSize() > PINNED_BYTES:
            words = "this principal has attached too many different tools; an operator has to look at them"
            raise RequestError(RequestFault.LIMIT_REACHED, words, field="description")

    def _end_with_credential(self, principal: Principal, link: FrameLink) -> asyncio.TimerHandle | None:
        if principal.expires_at is None:
            return None
        expired = RequestError(RequestFault.UNAUTHENTICATED, "the credential of this attachment has ended")
        left_s = max(0.0, principal.expires_at - self._clock.now())
        return asyncio.get_running_loop().call_later(left_s, link.close, expired)


def _given_name(told: rpc.DescribeResponse) -> str:
    name = told.name or DEFAULT_NAME
    if not _NAME.fullmatch(name):
        words = "the provider's name has 1 to 64 characters of A-Z a-z 0-9 . _ and -, a letter or digit first"
        raise RequestError(RequestFault.INVALID_FIELD, words, field="description.name")
    return name


def _refused(
    told: rpc.DescribeResponse, registration: Registration, connection: Connection
) -> tuple[tuple[str, str], ...]:
    taken = {tool.name for tool in registration.tools}
    why = dict.fromkeys(tool.name for tool in told.tools if tool.name not in taken)
    name = connection.spec.name
    return tuple(
        (tool, next((one for one in connection.problems if one.startswith(f"{tool} of {name} ")), "it cannot be read"))
        for tool in why
    )
