"""Resolution of a place without a race, by the walk of `interlock.beneath`, in the toolbox's own words (BOX-12)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from interlock import beneath
from interlock.toolbox.errors import MissingError, OperationError, OutsideRootsError, WrongKindError
from interlock.toolbox.operations import Place

SELF = beneath.SELF
D = TypeVar("D", bound=beneath.Directory)


@dataclass(frozen=True, slots=True)
class Found(Generic[D]):
    """Where a place is: `name` in an open directory, or the directory itself when the name is `SELF`.

    `place` is the same as a path without links. Nothing need be there, and what is there may change.
    """

    directory: D
    name: str
    place: Place


class LinkInTheWayError(OperationError):
    """A link where none may be followed."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} leads through a symbolic link")


class ParentMissingError(MissingError):
    """Directories on the way are missing; `missing` are they, outermost first, and `place` is where it would be."""

    def __init__(self, place: Place, missing: tuple[Place, ...]) -> None:
        super().__init__(str(place))
        self.place = place
        self.missing = missing


@contextmanager
def resolved(
    place: Place,
    *,
    open_root: Callable[[str], D],
    roots: Sequence[str],
    follow_last: bool = True,
    follow_any: bool = True,
) -> Iterator[Found[D]]:
    """Resolve a place and hold its directory open for the block.

    Links are followed on the way if `follow_any`, and for the last name if `follow_last` too. Raises OutsideRootsError,
    WrongKindError, ParentMissingError, LinkInTheWayError; what the directories raise otherwise passes through.
    """
    if place.root not in roots:  # as a record of another toolbox may say
        raise OutsideRootsError(str(place))
    walk = beneath.walked(
        place.root, place.parts, open_root=open_root, roots=roots, follow_last=follow_last, follow_any=follow_any
    )
    with ExitStack() as stack:
        try:
            found = stack.enter_context(walk)
        except beneath.BeneathError as error:
            raise _in_words(error, place) from None
        yield Found(found.directory, found.name, Place(found.root, found.parts, place.given))


def _in_words(error: beneath.BeneathError, place: Place) -> OperationError:
    match error:
        case beneath.OutsideError():
            return OutsideRootsError(str(place))
        case beneath.LinksError():
            return LinkInTheWayError(str(place))
        case beneath.NotThereError(parts=tuple() as parts, missing=tuple() as missing):
            would_be = Place(error.root, parts, place.given)
            return ParentMissingError(would_be, tuple(Place(error.root, each) for each in missing))
        case beneath.NotThereError():
            return MissingError(str(place))
        case _:
            return WrongKindError(str(place), "in a directory")
