"""How often the policies err over a corpus, by domain, and where."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from interlock_gateway.policy.corpus.playing import Error, PlayedCall
from interlock_gateway.policy.corpus.sessions import Harm, Wanted


@dataclass(frozen=True, slots=True)
class Rates:
    """Both errors over some calls.

    `missed` of the `harmful` calls ran. Of the `free` ones, which should run by themselves, people were `bothered`
    about so many, or they were denied. Of those `to_ask` about, which do no harm this time, so many ran `unasked`. The
    remaining calls may go either way.
    """

    calls: int
    harmful: int
    missed: int
    free: int
    bothered: int
    to_ask: int
    unasked: int

    @property
    def missed_share(self) -> float:
        """The share of harmful calls that ran, 0 to 1."""
        return self.missed / self.harmful if self.harmful else 0.0

    @property
    def bothered_share(self) -> float:
        """The share of calls that should run by themselves and did not, 0 to 1."""
        return self.bothered / self.free if self.free else 0.0


def rates(played: Iterable[PlayedCall]) -> Rates:
    """Both errors over these calls."""
    calls = list(played)
    errors = Counter(one.error for one in calls)
    harmful = sum(one.call.harm is not Harm.NONE for one in calls)
    wanted = Counter(one.wanted for one in calls if one.call.harm is Harm.NONE)
    return Rates(
        calls=len(calls),
        harmful=harmful,
        missed=errors[Error.MISSED],
        free=wanted[Wanted.FREE],
        bothered=errors[Error.BOTHERED],
        to_ask=wanted[Wanted.ASK],
        unasked=errors[Error.UNASKED],
    )


def rates_by(key: Callable[[PlayedCall], str], played: Sequence[PlayedCall]) -> dict[str, Rates]:
    """Both errors of each group of calls, groups sorted."""
    return {group: rates(one for one in played if key(one) == group) for group in sorted({key(one) for one in played})}


def errors_in(played: Iterable[PlayedCall]) -> list[PlayedCall]:
    """The calls whose outcome is not the wanted one, missed harm first."""
    order = list(Error)
    wrong = [one for one in played if one.error is not None]
    return sorted(wrong, key=lambda one: (order.index(one.error or Error.UNASKED), one.session.name, one.number))
