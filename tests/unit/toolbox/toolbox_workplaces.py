"""The same workplace on this machine and in memory, for the tests of the toolbox."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.provider import ToolProvider
from interlock.toolbox import toolbox_provider
from interlock.toolbox.local import local_operations
from interlock.toolbox.memory import memory_operations
from interlock.toolbox.operations import Files, Kind, Operations, Place
from interlock.toolbox.places import locate
from interlock.toolbox.remote.reaching import Wanted
from interlock.toolbox.remote.ssh import ssh_operations
from interlock.toolbox.walking import Walk
from interlock.v1.provider_pb2 import ToolInvocation, ToolResult
from interlock.v1.tool_provider_service_pb2 import DryRunRequest, DryRunResponse, ExecuteRequest
from ssh_servers import SshServer


@dataclass(frozen=True, slots=True)
class Workplace:
    """Operations with one root, and somebody else who puts things there behind their back. Paths are relative to it."""

    operations: Operations
    root: str
    put: Callable[..., None]
    put_link: Callable[[str, str], None]
    put_directory: Callable[[str], None]

    @property
    def files(self) -> Files:
        return self.operations.files

    def at(self, path: str) -> Place:
        return locate(path, workdir="", roots=self.files.roots)

    def content(self, path: str) -> bytes:
        with self.files.open(self.at(path)) as file:
            return file.read()


def local_workplace(directory: Path) -> Workplace:
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    return _workplace_of(directory, lambda root, state: local_operations([root], state, environment=environment))


@contextmanager
def ssh_workplace(directory: Path, server: SshServer) -> Iterator[Workplace]:
    """The same directories, reached through an SSH server on this machine."""
    with ExitStack() as stack:

        def operations(root: Path, state: Path) -> Operations:
            wanted = Wanted([str(root)], str(state))
            return stack.enter_context(ssh_operations(server.target, wanted, config=server.config))

        yield _workplace_of(directory, operations)


def _workplace_of(directory: Path, operations: Callable[[Path, Path], Operations]) -> Workplace:
    root = directory / "root"
    root.mkdir()
    outside = directory / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_bytes(b"classified")

    def put(path: str, content: bytes, mode: int = 0o644) -> None:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(mode)

    def put_link(path: str, target: str) -> None:
        link = root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)

    def put_directory(path: str) -> None:
        (root / path).mkdir(parents=True, exist_ok=True)

    return Workplace(operations(root, directory / "state"), str(root), put, put_link, put_directory)


def memory_workplace() -> Workplace:
    operations, files = memory_operations(["/base/root"])

    def put(path: str, content: bytes, mode: int = 0o644) -> None:
        files.put(f"/base/root/{path}", content, mode)

    return Workplace(
        operations,
        "/base/root",
        put,
        lambda path, target: files.put_link(f"/base/root/{path}", target),
        lambda path: files.put_directory(f"/base/root/{path}"),
    )


@dataclass(frozen=True, slots=True)
class Box:
    """The toolbox's provider over a workplace, called as the gateway calls it."""

    workplace: Workplace
    provider: ToolProvider

    async def result(self, tool: str, *, state_token: str | None = None, workdir: str = "", **given: Any) -> ToolResult:
        """What the tool answered."""
        request = ExecuteRequest(invocation=_invocation(tool, workdir, given))
        if state_token is not None:
            request.apply.state_token = state_token
        return (await self.provider.execute(request)).result

    async def text(self, tool: str, **given: Any) -> str:
        """The text of a result that is no error."""
        result = await self.result(tool, **given)
        assert not result.is_error, result.output
        return str(result.output)

    async def error(self, tool: str, **given: Any) -> str:
        """The tool's own words for the model."""
        result = await self.result(tool, **given)
        assert result.is_error
        assert result.tool_error, result.output
        return str(result.output)

    async def preview(self, tool: str, *, workdir: str = "", **given: Any) -> DryRunResponse:
        """What the tool says that it would do."""
        return await self.provider.dry_run(DryRunRequest(invocation=_invocation(tool, workdir, given)))

    async def undo(self, result: ToolResult) -> ToolResult:
        """Run the undo that a result carries, as a rollback would."""
        assert result.undo.tool
        return await self.result(result.undo.tool, **json.loads(result.undo.input))

    def tree(self) -> dict[str, tuple[str, int, bytes | str]]:
        """Everything in the workplace: kind, mode, and content or target."""
        found: dict[str, tuple[str, int, bytes | str]] = {}
        files = self.workplace.files
        for one in Walk(files, ignore=False).through(self.workplace.at(".")):
            body: bytes | str = b""
            if one.entry.kind is Kind.FILE:
                with files.open(one.place) as file:
                    body = file.read()
            elif one.entry.kind is Kind.LINK:
                body = files.read_link(one.place)
            found["/".join(one.parts)] = (one.entry.kind, one.entry.mode, body)
        return found


def _invocation(tool: str, workdir: str, given: dict[str, Any]) -> ToolInvocation:
    return ToolInvocation(tool=tool, workdir=workdir, input=json.dumps(given).encode())


def box_of(workplace: Workplace) -> Box:
    return Box(workplace, toolbox_provider(workplace.operations))
