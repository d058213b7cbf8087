"""Operations on this machine."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from interlock.toolbox.local_files import LocalFiles
from interlock.toolbox.local_shell import LocalShell, allowed_environment
from interlock.toolbox.local_vault import LocalVault
from interlock.toolbox.operations import Operations
from interlock.toolbox.searching import line_search


def default_state_dir(environment: Mapping[str, str]) -> Path:
    """Where undo keeps what it needs unless told otherwise, after the XDG base directories."""
    home = Path(environment.get("HOME") or Path.home())
    return Path(environment.get("XDG_STATE_HOME") or home / ".local" / "state") / "interlock" / "toolbox"


def local_operations(
    roots: Sequence[Path],
    state_dir: Path,
    *,
    environment: Mapping[str, str] | None = None,
    keep_environment: Sequence[str] = (),
) -> Operations:
    """Files beneath the roots, a vault in the state directory, and this machine's bash.

    Commands get the allowed part of `environment` (this process's own by default) and the names in `keep_environment`.
    Raises ValueError when a root is no directory or overlaps with the state directory.
    """
    vault = LocalVault(state_dir)
    files = LocalFiles(roots, vault)
    allowed = allowed_environment(os.environ if environment is None else environment, keep_environment)
    return Operations(files, vault, LocalShell(files, allowed), line_search(files, allowed["PATH"]))
