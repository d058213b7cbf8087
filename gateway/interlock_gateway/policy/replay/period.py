"""Which receipts are replayed, by their time."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from interlock_gateway.errors import InterlockError

WANTED = "a time as RFC 3339 or the beginning of one: 2026-11, 2026-11-23, 2026-11-23T08:30Z or 2026-11-23T10:30+02:00"
_TIME = re.compile(
    r"(?P<year>\d{4})(-(?P<month>\d\d)(-(?P<day>\d\d)([Tt ](?P<hour>\d\d)(:(?P<minute>\d\d)"
    r"(:(?P<second>\d\d)(\.(?P<fraction>\d{1,9}))?)?)?(?P<zone>[Zz]|[+-]\d\d:\d\d)?)?)?)?",
    re.ASCII,
)
_HOURS, _MINUTES = 24, 60


class PeriodError(InterlockError):
    """A period that nothing can lie in, or a bound that is no time."""


@dataclass(frozen=True, slots=True)
class Period:
    """From `since` on and before `until`, both as receipts have their times; empty means no bound."""

    since: str = ""
    until: str = ""

    def has(self, timestamp: bytes) -> bool:
        """Whether a time lies in it."""
        text = timestamp.decode("ascii", "replace")
        return (not self.since or text >= self.since) and (not self.until or text < self.until)


def period(since: str, until: str) -> Period:
    """The period between two times as people write them. Raises `PeriodError`, which says what is wanted.

    >>> period("2026-11", "2026-11-23T03:00:00+02:00")
    Period(since='2026-11-01T00:00:00.000000Z', until='2026-11-23T01:00:00.000000Z')
    """
    found = Period(_bound("--since", since), _bound("--until", until))
    if found.since and found.until and found.since >= found.until:
        raise PeriodError(f"--since {since} is not before --until {until}: nothing can lie between them")
    return found


def _bound(option: str, text: str) -> str:
    """The moment that a text begins with, in UTC; without an offset it is taken for UTC."""
    if not text:
        return ""
    match = _TIME.fullmatch(text)
    try:
        moment = _moment(match) if match else None
    except (ValueError, OverflowError):
        moment = None
    if moment is None:
        raise PeriodError(f"{option} {text} is no such time; wanted is {WANTED}")
    # The year by itself: `strftime` leaves its zeros out on some systems.
    return f"{moment.year:04}{moment:-%m-%dT%H:%M:%S.%f}Z"


def _moment(match: re.Match[str]) -> datetime:
    part = match.groupdict()
    return datetime(
        int(part["year"]),
        int(part["month"] or 1),
        int(part["day"] or 1),
        int(part["hour"] or 0),
        int(part["minute"] or 0),
        int(part["second"] or 0),
        int((part["fraction"] or "").ljust(6, "0")[:6]),
        _zone(part["zone"] or "Z"),
    ).astimezone(UTC)


def _zone(text: str) -> timezone:
    if text in {"Z", "z"}:
        return UTC
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours >= _HOURS or minutes >= _MINUTES:
        raise ValueError(text)
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text.startswith("-") else offset)
