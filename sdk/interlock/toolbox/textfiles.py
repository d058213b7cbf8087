"""Text as files hold it: byte order mark, line ends, encoding."""

from dataclasses import dataclass

BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
SNIFFED = 8192


class NotTextError(ValueError):
    """The bytes are no UTF-8 text; the message says what they are instead, and begins with `is`."""


@dataclass(frozen=True, slots=True)
class TextFile:
    r"""The text of a file in the shape in which models write: no byte order mark, and `\n` if all its lines end alike.

    `bom` and `crlf` say what was taken away, so that it can be put back.
    """

    text: str
    bom: bool = False
    crlf: bool = False

    def encoded(self, text: str) -> bytes:
        """Another text in the shape of this file."""
        shaped = text.replace("\r\n", "\n").replace("\n", "\r\n") if self.crlf else text
        return (BOM if self.bom else b"") + shaped.encode()

    def shaped(self, text: str) -> str:
        """A text in the line ends that `text` has."""
        return text.replace("\r\n", "\n") if self.crlf else text


def decoded(content: bytes) -> TextFile:
    """The text of a file's content. Raises NotTextError."""
    why = not_text(content)
    if why:
        raise NotTextError(why)
    bom = content.startswith(BOM)
    try:
        text = content[len(BOM) if bom else 0 :].decode()
    except UnicodeDecodeError as error:
        raise NotTextError(f"is not UTF-8 text: byte {error.start} cannot be read") from None
    crlf = "\r\n" in text and "\n" not in text.replace("\r\n", "")
    return TextFile(text.replace("\r\n", "\n") if crlf else text, bom, crlf)


def not_text(head: bytes) -> str:
    """Why a file that begins with these bytes is no text; empty when it may be one."""
    if head.startswith(_UTF16):
        return "is UTF-16 text; convert it to UTF-8 first"
    if b"\0" in head[:SNIFFED]:
        return "is a binary file"
    return ""
