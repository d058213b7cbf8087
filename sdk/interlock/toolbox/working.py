"""Where a toolbox works: on this machine, or on another that it reaches over SSH (BOX-1)."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from interlock.toolbox.local import default_state_dir, local_operations
from interlock.toolbox.operations import Operations
from interlock.toolbox.remote.reaching import Wanted


@dataclass(frozen=True, slots=True)
class Workplace:
    """The directories of a toolbox and the host that has them.

    `ssh` is `[user@]host[:port]`, empty for this machine; roots and state directory are paths of that host, and
    `ssh_config` is read in place of `~/.ssh/config`. Without a state directory the user's own of that host is taken.
    """

    roots: Sequence[Path]
    state_dir: Path | None = None
    keep_environment: Sequence[str] = ()
    ssh: str = ""
    ssh_config: Path | None = None

    @property
    def words(self) -> str:
        """Where tools work, for people."""
        if self.ssh:
            return f"{', '.join(map(str, self.roots))} on {self.ssh}"
        return ", ".join(str(root.absolute()) for root in self.roots)


@contextmanager
def working(place: Workplace) -> Iterator[Operations]:
    """The operations of a workplace, for the block.

    Raises ValueError for roots or a host that cannot be served as asked, UnreachableError for a host that cannot be
    reached or verified, ModuleNotFoundError for one over SSH without the extra `ssh`.
    """
    if not place.ssh:
        if place.ssh_config is not None:
            raise ValueError("there is no --ssh, without which no configuration of SSH is read")
        state_dir = place.state_dir or default_state_dir(os.environ)
        yield local_operations(place.roots, state_dir, keep_environment=place.keep_environment)
        return
    from interlock.toolbox.remote.ssh import ssh_operations, target  # noqa: PLC0415 -- an extra, of those who use it

    state = "" if place.state_dir is None else str(place.state_dir)
    wanted = Wanted([str(root) for root in place.roots], state, place.keep_environment)
    with ssh_operations(target(place.ssh), wanted, config=place.ssh_config) as operations:
        yield operations
