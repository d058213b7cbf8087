"""Pictures, made small enough for a model to look at."""

import io
import struct

from interlock._extras import extra

with extra("toolbox"):
    from PIL import Image, ImageOps, UnidentifiedImageError

MAX_SIDE = 2000
MAX_PIXELS = 40_000_000
MAX_FILE_BYTES = 32 * 1024 * 1024
MAX_RESULT_BYTES = 3 * 1024 * 1024
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")


class BadImageError(ValueError):
    """A picture that cannot be shown; the message begins with `is`."""


def fitted(data: bytes) -> tuple[bytes, str]:
    """A png, jpeg, gif or webp scaled to fit 2000 x 2000, and a line about it; the same bytes when it fits.

    Raises BadImageError for a damaged picture and for one with more pixels than there is memory to waste on.
    """
    try:
        _refuse_large(*(_webp_size(data) or (0, 0)))
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            _refuse_large(*image.size)
            return _fitted(image, data)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise BadImageError("is an image with too many pixels to open") from None
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, struct.error) as error:
        if isinstance(error, BadImageError):
            raise
        raise BadImageError("is an image that is damaged") from error


def _fitted(image: Image.Image, data: bytes) -> tuple[bytes, str]:
    width, height = image.size
    kind = str(image.format).lower()
    if max(width, height) <= MAX_SIDE and len(data) <= MAX_RESULT_BYTES:
        image.load()
        return data, f"[{kind} image, {width} x {height}]"
    image.draft("RGB", (MAX_SIDE, MAX_SIDE))
    small = ImageOps.exif_transpose(image)
    small.thumbnail((MAX_SIDE, MAX_SIDE), Image.Resampling.LANCZOS)
    made = _encoded(small, "JPEG" if kind == "jpeg" else "PNG")
    if len(made) > MAX_RESULT_BYTES:
        made = _encoded(small, "JPEG")
    return made, f"[{kind} image, {width} x {height}, scaled to {small.width} x {small.height}]"


def _encoded(image: Image.Image, kind: str) -> bytes:
    if kind == "JPEG":
        image = _on_white(image)
    elif image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        image = image.convert("RGBA")
    target = io.BytesIO()
    image.save(target, kind, quality=85)
    return target.getvalue()


def _on_white(image: Image.Image) -> Image.Image:
    if "A" not in image.getbands() and "transparency" not in image.info:
        return image.convert("RGB")
    clear = image.convert("RGBA")
    white = Image.new("RGBA", clear.size, "white")
    return Image.alpha_composite(white, clear).convert("RGB")


def _refuse_large(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise BadImageError(f"is an image of {width} x {height} pixels, more than the {MAX_PIXELS} that are opened")


def _webp_size(data: bytes) -> tuple[int, int] | None:
    """The canvas of a webp. Its decoder claims memory for all of it before anyone can ask how large it is."""
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    kind, body = data[12:16], data[20:30]
    if kind == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        return int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(body[8:10], "little") & 0x3FFF
    raise BadImageError("is an image that is damaged")
