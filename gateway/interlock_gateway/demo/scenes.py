"""What happens in the demonstration, scene by scene; each shows one promise of the gateway."""

import hashlib
import urllib.request
from collections.abc import Iterable

from interlock import Gateway
from interlock.admin import Admin
from interlock.v1.session_report_pb2 import LabelledCount

from interlock_gateway.audit.verify import verify
from interlock_gateway.demo.agent import Agent
from interlock_gateway.demo.screen import Screen
from interlock_gateway.demo.stage import Stage


class Scenes:
    """The demonstration's scenes, on one stage."""

    def __init__(self, stage: Stage, agent: Agent, screen: Screen) -> None:
        self._stage = stage
        self._agent = agent
        self._screen = screen

    async def play(self) -> None:
        """The first act: one agent, and what it may do alone."""
        await self._tools()
        await self._large_file()
        await self._edit_discarded()
        await self._edit_applied()
        await self._destructive()
        await self._confidence()
        await self._leave_the_workspace()

    async def end(self) -> None:
        """What is left afterwards: the report, the receipts, the metrics."""
        await self._report()

    async def _tools(self) -> None:
        screen = self._screen
        screen.scene("The agent asks what it may use. Each tool comes with what the gateway knows of it, safest first.")
        for listed in (await self._agent.session.tools()).tools:
            hints = f"  {'; '.join(listed.safety_hints)}" if listed.safety_hints else ""
            screen.block(f"{listed.name:<16} {listed.classification.effect.value:<12}{hints}")

    async def _large_file(self) -> None:
        self._screen.scene("It reads a large file. The result is cut, kept whole, and can be paged and searched.")
        large = self._largest_source()
        result = await self._agent.call("read", 6, path=large)
        if result.artifact is None:
            raise AssertionError("the result should have been shortened")
        await self._agent.call("read_artifact", 5, uri=result.artifact.uri, offset=400, limit=3)
        await self._agent.call("search_artifact", 4, uri=result.artifact.uri, pattern="class ", limit=3)

    async def _edit_discarded(self) -> None:
        self._screen.scene("It edits a file. It gets a preview, thinks again, and discards it: the file is as it was.")
        before = self._digest()
        await self._agent.call("edit", path="NOTES.md", old_string="Mondays", new_string="Fridays")
        await self._agent.resolve("discard", "nobody asked me to change the day")
        self._screen.say(f"NOTES.md before {before}, after {self._digest()}: {self._same(before)}.")

    async def _edit_applied(self) -> None:
        self._screen.scene("It edits again, and applies what was previewed: exactly that, or nothing.")
        before = self._digest()
        await self._agent.call("edit", path="NOTES.md", old_string="Ask Ada", new_string="Ask Ada or Grace")
        result = await self._agent.resolve("apply", "Grace is on call too")
        self._screen.say(f"NOTES.md before {before}, after {self._digest()}: {self._same(before)}.")
        if result.undo is not None:
            self._screen.say(f"The journal keeps how to take it back: {result.undo.tool}, {result.undo.description}")

    async def _destructive(self) -> None:
        self._screen.scene("It tries a destructive command. A parser reads the script, so hiding it does not help.")
        await self._agent.call("bash", command="ls | head -3; wc -l NOTES.md")
        await self._agent.call("bash", command="rm -rf .")
        await self._agent.call("bash", command="echo tidy; FORCE=1 sh -c 'cd / && r\"m\" -rf *'")
        left = sum(1 for path in self._stage.workspace.rglob("*") if path.is_file())
        self._screen.say(f"The workspace still has its {left} files.")

    async def _confidence(self) -> None:
        self._screen.scene("It deletes a file, and forgets to say how sure it is; then it says so.")
        await self._agent.call("delete", path="NOTES.md")
        await self._agent.call("delete", path="NOTES.md", _flyto_confidence=40)
        await self._agent.call("delete", path="NOTES.md", _flyto_confidence=90)
        await self._agent.resolve("apply", "the notes moved to the wiki")

    async def _leave_the_workspace(self) -> None:
        self._screen.scene("It tries to leave the workspace, plainly, by a detour, and by a symbolic link.")
        for path in ("/etc/passwd", "interlock/../../../../etc/passwd", "shortcut/passwd"):
            await self._agent.call("read", 4, path=path)

    async def _report(self) -> None:
        screen = self._screen
        screen.scene("Afterwards an operator asks what happened. Every call left a signed receipt.")
        async with Gateway(self._stage.operator_address) as gateway:
            report = await Admin(gateway).session_report(self._agent.session.session_id)
        screen.block(f"{report.calls} calls: " + _counted(report.calls_by_status))
        screen.block("denied because: " + _counted(report.denials_by_reason), 3)
        outcomes = ", ".join(f"{one.tool} {one.outcome} {one.count}" for one in report.destructive_calls)
        screen.block(f"destructive calls: {outcomes}")
        previews, undo = report.previews, report.undo
        screen.block(f"previews: {previews.previewed}, applied {previews.applied}, discarded {previews.discarded}")
        asked = report.checkpoints
        screen.block(f"checkpoints: {asked.opened} opened, {asked.approved} approved, {asked.denied} denied")
        screen.block(f"operations: {undo.operations}, undone {undo.undone}, still undoable {undo.undoable}")
        self._verify()
        self._metrics()

    def _verify(self) -> None:
        key = (self._stage.state / "audit-key.pem.pub").read_bytes()
        checked = verify(self._stage.state / "audit", key)
        found = f"whole and unchanged, {checked.lines} lines" if checked.ok else f"{checked.place}: {checked.problem}"
        self._screen.block(f"receipts, checked with the public key alone: {found}")

    def _metrics(self) -> None:
        with urllib.request.urlopen(self._stage.metrics_url, timeout=5) as answer:  # noqa: S310 - our own address
            text = answer.read().decode()
        self._screen.say("And the metrics that an alert would look at:")
        lines = [line for line in text.split("\n") if line.startswith("interlock_destructive_calls_total")]
        self._screen.block("\n".join(lines))

    def _largest_source(self) -> str:
        sources = self._stage.workspace.rglob("*_pb2_grpc.py")
        return str(max(sources, key=lambda path: path.stat().st_size).relative_to(self._stage.workspace))

    def _digest(self) -> str:
        return hashlib.sha256((self._stage.workspace / "NOTES.md").read_bytes()).hexdigest()[:12]

    def _same(self, before: str) -> str:
        return "unchanged" if self._digest() == before else "changed"


def _counted(counts: Iterable[LabelledCount]) -> str:
    return ", ".join(f"{one.label} {one.count}" for one in counts)
