"""Pins of tool definitions, and the consents given to what providers declare (TOOL-3, TOOL-5)."""

from sqlalchemy import bindparam, delete, select

from interlock_gateway.pipeline.ports import Consent
from interlock_gateway.registry.pins import Pin
from interlock_gateway.state.lane import Lane
from interlock_gateway.state.schema import consents, pins
from interlock_gateway.state.transaction import Link, Row, Statement

_PIN_COLUMNS = (
    pins.c.provider,
    pins.c.tool,
    pins.c.sha256,
    pins.c.definition,
    pins.c.pinned_at,
    pins.c.approved_by,
)
_CONSENT_COLUMNS = (
    consents.c.provider,
    consents.c.definitions_sha256,
    consents.c.given_by,
    consents.c.given_at,
    consents.c.shown,
)

_LOAD_PINS = Statement(select(*_PIN_COLUMNS).order_by(pins.c.provider, pins.c.tool))
_SAVE_PIN = Statement(
    lambda insert: (
        insert(pins)
        .values({column.name: bindparam(column.name) for column in _PIN_COLUMNS})
        .on_conflict_do_update(
            index_elements=["provider", "tool"],
            set_={column.name: bindparam(column.name) for column in _PIN_COLUMNS[2:]},
        )
    )
)
_FORGET_PINS = Statement(delete(pins).where(pins.c.provider == bindparam("provider_id")))
_LOAD_CONSENTS = Statement(select(*_CONSENT_COLUMNS).order_by(consents.c.given_at, consents.c.provider))
_SAVE_CONSENT = Statement(
    lambda insert: (
        insert(consents)
        .values({column.name: bindparam(column.name) for column in _CONSENT_COLUMNS})
        .on_conflict_do_update(
            index_elements=["provider", "definitions_sha256"],
            set_={column.name: bindparam(column.name) for column in _CONSENT_COLUMNS[2:]},
        )
    )
)


class Pins:
    """The registry's `PinStore` on a database, and the consents beside it."""

    def __init__(self, reader: Lane, writer: Lane) -> None:
        self._reader = reader
        self._writer = writer

    async def load_pins(self) -> tuple[Pin, ...]:
        """Every pin, by provider and tool."""
        return await self._reader.submit(lambda link: tuple(map(_pin, link.rows(_LOAD_PINS))))

    async def save_pin(self, pin: Pin) -> None:
        """Keep `pin` in place of the tool's earlier one, durably."""

        def work(link: Link) -> None:
            link.change(
                _SAVE_PIN,
                provider=pin.provider,
                tool=pin.tool,
                sha256=pin.sha256,
                definition=pin.definition_json.encode(),
                pinned_at=pin.pinned_at,
                approved_by=pin.approved_by,
            )

        await self._writer.submit(work)

    async def forget_pins(self, provider: str) -> None:
        """Forget every pin of `provider`'s tools."""
        await self._writer.submit(lambda link: link.change(_FORGET_PINS, provider_id=provider))

    async def load_consents(self) -> tuple[Consent, ...]:
        """Every consent, first given first."""
        return await self._reader.submit(lambda link: tuple(map(_consent, link.rows(_LOAD_CONSENTS))))

    async def save_consent(self, consent: Consent) -> None:
        """Keep `consent` in place of an earlier one for the same definitions, durably."""

        def work(link: Link) -> None:
            link.change(
                _SAVE_CONSENT,
                provider=consent.provider,
                definitions_sha256=consent.definitions_sha256,
                given_by=consent.by,
                given_at=consent.at,
                shown=consent.shown_json.encode(),
            )

        await self._writer.submit(work)


def _pin(row: Row) -> Pin:
    provider, tool, sha256, definition, pinned_at, approved_by = row
    return Pin(provider, tool, sha256, definition.decode(), pinned_at, approved_by)


def _consent(row: Row) -> Consent:
    provider, definitions_sha256, by, at, shown = row
    return Consent(provider, definitions_sha256, by, at, shown.decode())
