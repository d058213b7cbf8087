"""`ArtifactIndex` on a database: what is entered about artifacts, and what of it is going (ART-4)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from interlock_gateway.artifacts.errors import ArtifactStoreError
from interlock_gateway.artifacts.index import Doomed, Entry, Page, RemovalReason, Reservation, Usage
from interlock_gateway.artifacts.uri import ArtifactKey
from interlock_gateway.state import artifact_statements as sql
from interlock_gateway.state.lane import Lane
from interlock_gateway.state.transaction import Link, Row

# More in one transaction would make calls wait for it.
AT_ONCE = 50
_LOOKED_AT = 200
_SESSIONS_AT_ONCE = 200


class StoredArtifacts:
    """`ArtifactIndex` on a database."""

    def __init__(self, reader: Lane, writer: Lane) -> None:
        self._reader = reader
        self._writer = writer

    async def reserve(self, key: ArtifactKey, size: int, *, now: float, most: int) -> Reservation | None:
        """Enter an artifact, or renew its age; `None` when its session would have more than `most` bytes."""
        return await self._writer.submit(partial(_reserve, key=key, size=size, now=now, most=most))

    async def withdraw(self, key: ArtifactKey, reservation: Reservation, now: float) -> None:
        """Storing it failed: what there may be of it goes with the next sweep, and its bytes count no more."""
        await self._writer.submit(partial(_withdraw, key=key, reservation=reservation, now=now))

    async def removed_at(self, key: ArtifactKey, now: float) -> float | None:
        """When the artifact was removed, if that is known; `now` when it is just being removed."""
        row = await self._reader.submit(lambda link: link.row(sql.FIND, of_name=key.content_name))
        if row is None:
            return None
        state, _, reason, _, removed_at = row
        return now if state == sql.REMOVING and reason != RemovalReason.FAILED else removed_at

    async def usage(self) -> Usage:
        """All that is entered."""
        rows = await self._reader.submit(lambda link: link.rows(sql.USAGE))
        by_owner = {str(owner): int(size) for owner, _, size in rows}
        return Usage(sum(int(count) for _, count, _ in rows), sum(by_owner.values()), by_owner)

    async def owner_of(self, session_id: str) -> str:
        """The principal whose session it is; empty when it is not known."""
        row = await self._reader.submit(lambda link: link.row(sql.SESSION, session=session_id))
        return "" if row is None else str(row[0])

    async def claim(
        self,
        claimant: str,
        reason: RemovalReason,
        *,
        before: float,
        enough: int,
        after: tuple[float, str] | None,
        until: float,
        owner: str | None = None,
    ) -> Page:
        """Claim for removal the oldest that nobody refers to, stored at `before` at the latest."""
        work = partial(
            _claim, who=claimant, why=reason, before=before, enough=enough, after=after, until=until, owner=owner
        )
        return await self._writer.submit(work)

    async def claim_left(self, claimant: str, *, now: float, until: float) -> tuple[Doomed, ...]:
        """Claim some of what others claimed, or could not store, and did not remove in their time."""
        return await self._writer.submit(partial(_claim_left, who=claimant, now=now, until=until))

    async def removed(self, claimant: str, names: Sequence[str], now: float) -> tuple[Doomed, ...]:
        """These are gone from the store; which of them counted until now."""
        return await self._writer.submit(partial(_removed, who=claimant, names=tuple(names), now=now))

    async def forget_removed(self, before: float) -> int:
        """Forget some that were removed before then; how many."""

        def work(link: Link) -> int:
            names = [row[0] for row in link.rows(sql.REMOVED_LONG_AGO, before=before, limit=AT_ONCE)]
            return sum(link.change(sql.FORGET, of_name=name) for name in names)

        return await self._writer.submit(work)

    async def unknown(self, names: Collection[str]) -> frozenset[str]:
        """Those of `names` that are not entered."""

        def work(link: Link) -> frozenset[str]:
            return frozenset(name for name in names if link.row(sql.FIND, of_name=name) is None)

        return await self._reader.submit(work)

    async def adopt(self, entries: Sequence[Entry]) -> int:
        """Enter what was found in the store, where its session is known here; how many."""
        return await self._writer.submit(lambda link: sum(_adopt(link, entry) for entry in entries))

    async def release_closed(self, after: str) -> str | None:
        """Let go of artifacts of closed sessions that were missed; looks at some sessions."""

        def work(link: Link) -> str | None:
            found = link.rows(sql.CLOSED_AMONG, after=after, limit=_SESSIONS_AT_ONCE)
            for session_id, closed_at in found:
                if closed_at is not None:
                    release_session(link, session_id)
            return str(found[-1][0]) if len(found) == _SESSIONS_AT_ONCE else None

        return await self._writer.submit(work)

    async def release_idle(self, before: float) -> int:
        """Let go of the artifacts of some sessions in which nothing was stored since then; how many sessions."""

        def work(link: Link) -> int:
            idle = [row[0] for row in link.rows(sql.IDLE, before=before, limit=AT_ONCE)]
            for session_id in idle:
                release_session(link, session_id)
            return len(idle)

        return await self._writer.submit(work)

    async def take_turn(self, errand: str, claimant: str, *, now: float, until: float, every_s: float) -> bool:
        """Whether `claimant` is to do the errand now: one of many, and not before `every_s` have passed."""
        values = {"errand": errand, "who": claimant, "until": until, "now": now, "since": now - every_s}
        return await self._writer.submit(lambda link: link.change(sql.TAKE_TURN, **values) == 1)

    async def end_turn(self, errand: str, claimant: str, *, now: float, done: bool) -> None:
        """The errand has ended, well or not."""

        def work(link: Link) -> None:
            if done:
                link.change(sql.END_TURN_WELL, of_errand=errand, who=claimant, now=now)
            else:
                link.change(sql.END_TURN, of_errand=errand, who=claimant)

        await self._writer.submit(work)

    async def last_done(self, errand: str) -> float | None:
        """When the errand ended well the last time, whoever did it."""
        row = await self._reader.submit(lambda link: link.row(sql.LAST_DONE, of_errand=errand))
        return None if row is None else row[0]


@dataclass(frozen=True, slots=True)
class _Whose:
    """A session that stores something, its owner, and whether what it stores may go at once, 1 or 0."""

    session_id: str
    owner: str
    released: int


def release_session(link: Link, session_id: str) -> None:
    """The session is closed, or as good as that: its artifacts may go. Belongs into the transaction that closes it."""
    link.change(sql.SET_RELEASED, session=session_id, now_released=1)
    link.change(sql.RELEASE, session=session_id)


def _reserve(link: Link, key: ArtifactKey, size: int, now: float, most: int) -> Reservation | None:
    name = key.content_name
    row = link.row(sql.FIND, of_name=name)
    whose = _whose(link, key.session_id)
    released = whose.released
    if row is None:
        if not _charge(link, whose, 1, size, most=most, now=now):
            return None
        values = {"name": name, "session": key.session_id, "size": size, "now": now}
        link.change(sql.ENTER, **values, released=released, owner=whose.owner)
        return Reservation(is_new=True, stored_at=now)
    state, counted, _, claimed_until, _ = row
    if state == sql.KEPT:
        link.change(sql.RENEW, of_name=name, now=now)
        link.change(sql.STORED, session=key.session_id, now=now)
        return Reservation(is_new=False, stored_at=now)
    if state == sql.REMOVING and claimed_until > now:
        raise ArtifactStoreError("the same content is being removed at this moment")
    is_counted = state == sql.REMOVING
    ones, more = (0, size - counted) if is_counted else (1, size)
    if not _charge(link, whose, ones, more, most=most, now=now):
        return None
    link.change(sql.REENTER, of_name=name, size=size, now=now, released=released)
    return Reservation(is_new=True, stored_at=now)


def _charge(link: Link, whose: _Whose, ones: int, more: int, *, most: int, now: float) -> bool:
    if more > most:
        return False
    values = {"ones": ones, "more": more, "most": most, "now": now, "released": whose.released, "owner": whose.owner}
    return link.change(sql.CHARGE, session=whose.session_id, **values) == 1


def _whose(link: Link, session_id: str) -> _Whose:
    """Whose session it is, and whether what it stores may go; one that is open holds all that it still has."""
    session = link.row(sql.SESSION, session=session_id)
    owner, closed_at = ("", None) if session is None else (str(session[0]), session[1])
    if closed_at is not None:
        return _Whose(session_id, owner, 1)
    known = link.row(sql.IS_RELEASED, session=session_id)
    if known is not None and known[0]:
        link.change(sql.SET_RELEASED, session=session_id, now_released=0)
        link.change(sql.HOLD, session=session_id)
    return _Whose(session_id, owner, 0)


def _withdraw(link: Link, key: ArtifactKey, reservation: Reservation, now: float) -> None:
    row = link.row(sql.FIND, of_name=key.content_name)
    if row is not None and link.change(sql.WITHDRAW, of_name=key.content_name, stored=reservation.stored_at, now=now):
        link.change(sql.UNCHARGE, session=key.session_id, ones=0, less=row[1])


def _claim(
    link: Link,
    who: str,
    why: RemovalReason,
    *,
    before: float,
    enough: int,
    after: tuple[float, str] | None,
    until: float,
    owner: str | None,
) -> Page:
    rows = _oldest(link, before, after, owner)
    doomed: list[Doomed] = []
    freed = 0
    for name, size, stored_at, is_pending, is_asked_about in rows:
        if freed >= enough:
            return Page(tuple(doomed), None)
        after = stored_at, name
        if is_pending or is_asked_about:
            continue
        if link.change(sql.CLAIM, of_name=name, stored=stored_at, who=who, until=until, why=why.value):
            doomed.append(Doomed(name, size, why))
            freed += size
        if len(doomed) == AT_ONCE:
            return Page(tuple(doomed), after)
    return Page(tuple(doomed), after if len(rows) == _LOOKED_AT and freed < enough else None)


def _oldest(link: Link, before: float, after: tuple[float, str] | None, owner: str | None) -> Sequence[Row]:
    values: dict[str, Any] = {"before": before, "limit": _LOOKED_AT}
    if owner is not None:
        values["of_owner"] = owner
    if after is None:
        return link.rows(sql.OLDEST if owner is None else sql.OLDEST_OF_OWNER, **values)
    values["after_time"], values["after_name"] = after
    return link.rows(sql.OLDEST_BEHIND if owner is None else sql.OLDEST_OF_OWNER_BEHIND, **values)


def _claim_left(link: Link, who: str, now: float, until: float) -> tuple[Doomed, ...]:
    rows = link.rows(sql.LEFT, now=now, limit=AT_ONCE)
    return tuple(
        Doomed(name, size, RemovalReason(reason))
        for name, size, reason in rows
        if link.change(sql.RECLAIM, of_name=name, who=who, now=now, until=until)
    )


def _removed(link: Link, who: str, names: tuple[str, ...], now: float) -> tuple[Doomed, ...]:
    gone = []
    for name in names:
        row = link.row(sql.CLAIMED, of_name=name, who=who)
        if row is None:
            continue
        session_id, size, why = row[0], row[1], RemovalReason(row[2])
        if why is RemovalReason.FAILED:
            link.change(sql.DROP, of_name=name, who=who)
        else:
            link.change(sql.REMOVE, of_name=name, who=who, now=now)
        link.change(sql.UNCHARGE, session=session_id, ones=1, less=size)
        link.change(sql.FORGET_SESSION, session=session_id)
        gone.append(Doomed(name, size, why))
    return tuple(gone)


def _adopt(link: Link, entry: Entry) -> int:
    if link.row(sql.SESSION, session=entry.session_id) is None or link.row(sql.FIND, of_name=entry.name) is not None:
        return 0
    whose = _whose(link, entry.session_id)
    _charge(link, whose, 1, entry.size, most=1 << 62, now=entry.stored_at)
    values = {"name": entry.name, "session": entry.session_id, "size": entry.size, "now": entry.stored_at}
    return link.change(sql.ENTER, **values, released=whose.released, owner=whose.owner)
