"""What our documents tell a reader to type works."""

import ast
import inspect
import subprocess
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from interlock_gateway.cli.main import app
from repository import ROOT, our_documents, text_of
from snippets import PLAYED, SHELLS, Snippet, commands_in, snippets_in, unplayed_part
from typer.testing import CliRunner

each_document = pytest.mark.parametrize("path", our_documents())


@each_document
async def test_the_python_of_a_document_runs_from_top_to_bottom(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for snippet in runnable(path, {"python"}):
        waiting = eval(compiled(snippet), names)
        if inspect.isawaitable(waiting):
            await waiting


@pytest.mark.parametrize("path", [path for path in our_documents() if PLAYED.get(path) != ""])
def test_every_command_that_a_document_shows_exists(path: str) -> None:
    for snippet in runnable(path, SHELLS, unplayed_part(path, text_of(path))):
        for words in commands_in(snippet):
            trouble = trouble_with(words)
            assert not trouble, f"{snippet.place}: {' '.join(words)}: {trouble}"


def test_a_block_is_found_with_its_place_language_and_excuse() -> None:
    document = "Text\n\n```python\nx = 1\n```\n\n<!-- not run: it takes a registry -->\n```bash\npip install x\n```\n"

    assert list(snippets_in("a.md", document)) == [
        Snippet("a.md", 3, "python", "x = 1\n", None),
        Snippet("a.md", 8, "bash", "pip install x\n", "it takes a registry"),
    ]


def test_commands_are_read_without_prompts_comments_variables_and_output() -> None:
    body = "$ A=1 make test \\\n  -k  # all\n42 passed\n$ interlock status && interlock check | head\n"
    assert list(commands_in(Snippet("a.md", 1, "console", body, None))) == [
        ["make", "test", "-k"],
        ["interlock", "status"],
        ["interlock", "check"],
        ["head"],
    ]


def runnable(path: str, languages: set[str], text: str | None = None) -> list[Snippet]:
    """Return a document's snippets in some languages, but those that say why they are not run."""
    found = snippets_in(path, text_of(path) if text is None else text)
    return [snippet for snippet in found if snippet.language in languages and snippet.excuse is None]


def compiled(snippet: Snippet) -> CodeType:
    """Return the snippet as code that knows its place in the document, and may await at its top level."""
    source = "\n" * snippet.line + snippet.body
    code: CodeType = compile(source, str(ROOT / snippet.path), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return code


def trouble_with(words: list[str]) -> str:
    """Return why a command, which is not run, would not be understood; empty when it would."""
    match words:
        case ["make", *rest]:
            outcome = subprocess.run(
                ["make", "--dry-run", *rest], cwd=ROOT, capture_output=True, text=True, check=False
            )
            return outcome.stderr if outcome.returncode else ""
        case ["interlock", *rest]:
            # Help is given before arguments are asked for, and after options have been looked at.
            own = rest[: rest.index("--")] if "--" in rest else rest  # what comes after it is another program's
            answer = CliRunner().invoke(app, [*own, "--help"])
            return answer.output if answer.exit_code else ""
    return "a test cannot try it; say above the block why it is not run"
