"""The tool `read`: look into a text file or at a picture (BOX-2)."""

from typing import Annotated, Any, BinaryIO

from interlock.provider import Arg, Image, Tool, ToolContext, ToolError, ToolResult, tool
from interlock.toolbox.binding import FilePath, Workbench, counted, in_words, result_rendering
from interlock.toolbox.images import MAX_FILE_BYTES, BadImageError, fitted
from interlock.toolbox.reading import MAX_BYTES, MAX_LINES, Piece, lines_of
from interlock.toolbox.textfiles import SNIFFED, not_text

Offset = Annotated[int, Arg(description="The number of the first line to read, from 1", min=1)]
Limit = Annotated[int, Arg(description="How many lines to read", min=1, max=MAX_LINES)]

_NOTICE_BYTES = 1024
_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")


def read_tool(bench: Workbench) -> Tool[..., Any]:
    """The tool, working on a bench."""
    read = _Read(bench)
    made = tool(
        name="read",
        aliases=("read_file",),
        title="Read a file",
        description=(
            f"Read a text file, at most {MAX_LINES} lines or {MAX_BYTES // 1024} KB at once, from line offset on; "
            "or look at a png, jpg, gif or webp image."
        ),
        read_only=True,
        destructive=False,
        concurrency_safe=True,
        open_world=False,
        permission_class="file",
        audit_operation="read",
        knows_workdir=True,
        search_hint="open view show cat file image picture",
        max_result_bytes=MAX_BYTES + _NOTICE_BYTES,
        prompt_snippet="read: look into a text file, or at an image",
        prompt_guidelines=("Use read rather than bash with cat, head or tail.",),
    )(read.run)
    made.render_call(read.render_call)
    made.render_result(result_rendering)
    return made


class _Read:
    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    def run(self, path: FilePath, ctx: ToolContext, *, offset: Offset = 1, limit: Limit = MAX_LINES) -> ToolResult:
        """Read it."""
        with in_words(ctx):
            place = self._bench.place(path, ctx)
            with self._bench.operations.files.open(place) as file:
                head = file.read(SNIFFED)
                file.seek(0)
                if is_image(head):
                    return _image(path, file)
                why = not_text(head)
                if why:
                    raise ToolError(f"{path} {why}; read shows text, and png, jpg, gif and webp images")
                return _text(path, lines_of(file, offset, limit))

    def render_call(self, path: str, *, offset: int = 1) -> str:
        """What a person reads about the call."""
        return f"read {path}" + (f" from line {offset}" if offset > 1 else "")


def is_image(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a png, jpg, gif or webp."""
    return head.startswith(_SIGNATURES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


def _image(path: str, file: BinaryIO) -> ToolResult:
    data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ToolError(f"{path} is an image of more than {counted(MAX_FILE_BYTES, 'byte')}")
    try:
        made, line = fitted(data)
    except BadImageError as error:
        raise ToolError(f"{path} {error}") from error
    return ToolResult(content=(line, Image(made)), details={"summary": f"read {path} {line}", "bytes": len(data)})


def _text(path: str, piece: Piece) -> ToolResult:
    if piece.last < piece.first:
        if piece.first > 1:
            raise ToolError(f"{path} has {counted(piece.lines_seen, 'line')}; there is no line {piece.first}")
        return ToolResult(content="[the file is empty]", details={"summary": f"read {path}, which is empty"})
    text = piece.content.decode(errors="replace").replace("\r\n", "\n")
    notices = []
    if piece.cut_bytes:
        size = counted(piece.cut_bytes, "byte")
        notices.append(f"[Line {piece.last} has {size}; only its first {MAX_BYTES:,} are shown]")
    if not _is_utf8(piece):
        notices.append("[The file is not UTF-8: what cannot be read is shown as \ufffd, and edit refuses it]")
    if piece.more:
        notices.append(f"[Showing lines {piece.first}-{piece.last}, use offset={piece.last + 1} to continue]")
    gap = "" if text.endswith("\n") or not notices else "\n"
    lines = f"lines {piece.first}-{piece.last}" + ("" if piece.more else " (to the end)")
    return ToolResult(
        content=text + gap + "\n".join(notices),
        details={
            "summary": f"read {path}, {lines}",
            "first_line": piece.first,
            "last_line": piece.last,
            "more": piece.more,
        },
    )


def _is_utf8(piece: Piece) -> bool:
    try:
        piece.content.decode()
    except UnicodeDecodeError as error:
        # A line that was cut may be cut within a character.
        return bool(piece.cut_bytes) and error.start > len(piece.content) - 4
    return True
