"""The README of the SDK works with what `pip install interlock-sdk` brings, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from snippets import snippets_in

README = Path(__file__).parents[3] / "sdk" / "README.md"
# Refuses every module that comes neither with Python nor with grpcio, protobuf and what grpcio itself asks for.
ALONE = """
import ast, asyncio, inspect, sys
class Alone:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names | {"google", "grpc", "interlock", "typing_extensions"}:
            raise ModuleNotFoundError(f"{name} is not there", name=name)
sys.meta_path.insert(0, Alone())
async def play():
    names = {"__name__": "__main__"}
    for source in sys.argv[1:]:
        waiting = eval(compile(source, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        if inspect.isawaitable(waiting):
            await waiting
asyncio.run(play())
"""


@pytest.mark.req("SDK-1")
def test_the_readme_of_the_sdk_runs_with_grpcio_and_protobuf_alone() -> None:
    found = snippets_in("sdk/README.md", README.read_text(encoding="utf-8"))
    blocks = [one.body for one in found if one.language == "python" and one.excuse is None]
    assert len(blocks) > 8

    command = [sys.executable, "-W", "error", "-c", ALONE, *blocks]
    # gRPC tells of a server that ends before its client has let go, which is no warning of ours.
    quiet = {**os.environ, "GRPC_VERBOSITY": "ERROR"}
    played = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=quiet)

    assert (played.returncode, played.stderr) == (0, "")
