"""`read`: pieces of text, pictures, and words for everything else."""

import io
import struct
import time
import zlib

import pytest
from interlock.toolbox.images import BadImageError, fitted
from PIL import Image
from toolbox_workplaces import Box


def picture(kind: str, size: tuple[int, int], mode: str = "RGB") -> bytes:
    target = io.BytesIO()
    Image.new(mode, size, "red").save(target, kind)
    return target.getvalue()


@pytest.mark.req("BOX-2")
async def test_a_short_file_is_read_whole_without_a_notice(box: Box) -> None:
    box.workplace.put("a.txt", "one\nzwei ü\n".encode())

    assert await box.text("read", path="a.txt") == "one\nzwei ü\n"


@pytest.mark.req("BOX-2", "RES-3")
async def test_a_long_file_is_read_by_2000_lines_with_the_notice(box: Box) -> None:
    box.workplace.put("a.txt", b"".join(b"line %d\n" % number for number in range(1, 4501)))

    first = (await box.text("read", path="a.txt")).splitlines()
    second = (await box.text("read", path="a.txt", offset=2001)).splitlines()
    third = (await box.text("read", path="a.txt", offset=4001)).splitlines()

    assert first[0] == "line 1"
    assert first[-2:] == ["line 2000", "[Showing lines 1-2000, use offset=2001 to continue]"]
    assert (second[0], second[-1]) == ("line 2001", "[Showing lines 2001-4000, use offset=4001 to continue]")
    assert (third[0], third[-1]) == ("line 4001", "line 4500")


@pytest.mark.req("BOX-2", "RES-3")
async def test_a_wide_file_is_read_by_256_kilobytes(box: Box) -> None:
    box.workplace.put("a.txt", b"".join(b"%06d " % number + b"x" * 1016 + b"\n" for number in range(1, 1001)))

    text = await box.text("read", path="a.txt")

    assert text.splitlines()[-1] == "[Showing lines 1-256, use offset=257 to continue]"
    assert len(text.encode()) < 256 * 1024 + 200


@pytest.mark.req("BOX-2")
async def test_a_piece_is_read_when_asked(box: Box) -> None:
    box.workplace.put("a.txt", b"1\n2\n3\n4\n")

    assert await box.text("read", path="a.txt", offset=2, limit=2) == (
        "2\n3\n[Showing lines 2-3, use offset=4 to continue]"
    )
    assert await box.text("read", path="a.txt", offset=4, limit=2) == "4\n"
    assert "has 4 lines; there is no line 9" in await box.error("read", path="a.txt", offset=9)


@pytest.mark.req("BOX-2")
async def test_a_line_that_is_too_long_is_shown_as_far_as_it_fits(box: Box) -> None:
    box.workplace.put("a.txt", b"x" * 1_000_000 + b"\nlast\n")

    text = await box.text("read", path="a.txt")

    assert text.splitlines()[1:] == [
        "[Line 1 has 1,000,001 bytes; only its first 262,144 are shown]",
        "[Showing lines 1-1, use offset=2 to continue]",
    ]
    assert await box.text("read", path="a.txt", offset=2) == "last\n"


async def test_a_character_on_the_edge_of_a_cut_line_is_no_foreign_encoding(box: Box) -> None:
    box.workplace.put("a.txt", ("x" + "ü" * 200_000).encode())

    text = await box.text("read", path="a.txt")

    assert "UTF-8" not in text


@pytest.mark.req("BOX-2")
async def test_an_empty_file_says_that_it_is_empty(box: Box) -> None:
    box.workplace.put("a.txt", b"")

    assert await box.text("read", path="a.txt") == "[the file is empty]"


@pytest.mark.req("BOX-2")
@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\x7fELF\0\0", "a is a binary file"), ("hi".encode("utf-16"), "a is UTF-16 text")],
)
async def test_other_binary_is_refused_in_words(box: Box, content: bytes, words: str) -> None:
    box.workplace.put("a", content)

    assert words in await box.error("read", path="a")


@pytest.mark.req("BOX-2")
async def test_text_in_another_encoding_is_shown_and_said_to_be(box: Box) -> None:
    box.workplace.put("a.txt", b"caf\xe9\n")

    lines = (await box.text("read", path="a.txt")).splitlines()

    assert lines == [
        "caf\ufffd",
        "[The file is not UTF-8: what cannot be read is shown as \ufffd, and edit refuses it]",
    ]


@pytest.mark.req("BOX-2")
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
async def test_a_picture_is_known_by_its_content_and_returned_as_it_is(box: Box, kind: str) -> None:
    data = picture(kind, (40, 30))
    box.workplace.put("picture.txt", data)

    result = await box.result("read", path="picture.txt")

    assert not result.is_error
    assert result.content[0].text.text == f"[{kind.lower()} image, 40 x 30]"
    assert result.content[1].image.data == data
    assert result.content[1].image.media_type == f"image/{kind.lower()}"


@pytest.mark.req("BOX-2")
@pytest.mark.parametrize(
    ("kind", "mode", "size", "scaled"),
    [
        ("PNG", "RGBA", (4000, 1000), (2000, 500)),
        ("JPEG", "RGB", (1000, 3000), (667, 2000)),
        ("JPEG", "CMYK", (2500, 2500), (2000, 2000)),
        ("PNG", "P", (2001, 10), (2000, 10)),
        ("PNG", "1", (3000, 30), (2000, 20)),
        ("GIF", "P", (2200, 1100), (2000, 1000)),
        ("WEBP", "RGB", (2400, 600), (2000, 500)),
    ],
)
def test_a_large_picture_is_scaled_to_fit(kind: str, mode: str, size: tuple[int, int], scaled: tuple[int, int]) -> None:
    made, line = fitted(picture(kind, size, mode))

    with Image.open(io.BytesIO(made)) as image:
        assert image.size == scaled
    assert line.endswith(f"scaled to {scaled[0]} x {scaled[1]}]")


def test_a_picture_that_stays_large_becomes_a_jpeg() -> None:
    noise = Image.effect_noise((1300, 1100), 100).convert("RGB")
    noise.putalpha(Image.effect_noise((1300, 1100), 100))
    target = io.BytesIO()
    noise.save(target, "PNG", compress_level=1)
    assert len(target.getvalue()) > 3 * 1024 * 1024

    made, _ = fitted(target.getvalue())

    assert made.startswith(b"\xff\xd8\xff")
    assert len(made) <= 3 * 1024 * 1024


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds next to nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" * 1_000_000, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def webp_header(width: int, height: int) -> bytes:
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    chunk = b"VP8X" + struct.pack("<I", 10) + b"\x02\0\0\0" + size
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


@pytest.mark.req("BOX-2", "SEC-3")
@pytest.mark.parametrize(
    "data",
    [
        png_header(60_000, 60_000),
        png_header(10_000, 10_000),
        webp_header(16_000, 16_000),
        b"GIF89a" + struct.pack("<HH", 65_535, 65_535) + b"\0\0\0",
    ],
)
def test_a_bomb_is_refused_at_once(data: bytes) -> None:
    started = time.process_time()

    with pytest.raises(BadImageError):
        fitted(data)

    assert time.process_time() - started < 1


@pytest.mark.req("BOX-2")
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
@pytest.mark.parametrize("keep", [12, 20, 40, -400])
async def test_a_damaged_picture_is_refused_in_words(box: Box, kind: str, keep: int) -> None:
    noise = Image.effect_noise((64, 64), 50).convert("RGB")
    target = io.BytesIO()
    noise.save(target, kind)
    box.workplace.put("a", target.getvalue()[:keep])

    result = await box.result("read", path="a")

    if result.is_error:
        assert result.tool_error
        assert "damaged" in result.output
    else:
        assert kind == "GIF"  # its decoder gives what there is
