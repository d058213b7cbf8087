"""Nothing that is committed knows the machine or the registry it came from."""

import re

from repository import ROOT, tracked_files

REGISTRY = re.compile(
    rb"(?:index-url|find-links|registry|resolved|goproxy).{0,4}https?://"
    rb"|https?://(?:pypi\.|files\.pythonhosted\.|registry\.npmjs\.|proxy\.golang\.|repo1?\.maven\.|index\.crates\.)",
    re.IGNORECASE,
)
# Where checkouts lie on developers' and build machines.
MACHINE_PATH = re.compile(rb"(?<![\w.])/(?:work|workspace|builds|home/runner|Users/\w+)/")


def test_no_file_names_a_registry() -> None:
    assert not files_with(REGISTRY)


def test_no_file_names_a_path_of_one_machine() -> None:
    assert not files_with(MACHINE_PATH)


def files_with(pattern: re.Pattern[bytes]) -> list[str]:
    """Return the places in tracked files that match."""
    found = []
    for path in tracked_files():
        for number, line in enumerate((ROOT / path).read_bytes().splitlines(), 1):
            if match := pattern.search(line):
                found.append(f"{path}:{number}: {match.group().decode(errors='replace')}")
    return found
