"""The archive that a bundle is: a gzipped tar, read within bounds and written to the same bytes each time.

What comes in is not trusted: nothing of it is unpacked to disk by the names in it, and no name may leave the archive.
"""

import io
import tarfile
import zlib
from collections.abc import Mapping

from interlock_gateway.policy.bundles.errors import BundleError, BundleFault

MAX_FILES = 10_000
MAX_NAME = 512
_GZIP = 31  # zlib's window bits for exactly one gzip stream
_FORBIDDEN = frozenset("\\:\0\r\n")


def read_archive(raw: bytes, max_bytes: int) -> dict[str, bytes]:
    """The files of an archive by name, relative to its root and sorted; `max_bytes` bounds what it unpacks to.

    OPA begins its names at `/`; that is the archive's root. Raises `BundleError` for what is no such archive, for
    links, devices and sparse files, for names that lead elsewhere, and for one name used twice.
    """
    unpacked = _unpacked(raw, max_bytes)
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:") as archive:
            for count, member in enumerate(archive):
                if count >= MAX_FILES:
                    raise BundleError(BundleFault.TOO_LARGE, f"holds more than {MAX_FILES} files")
                if member.isdir():
                    continue
                name = safe_name(member.name)
                if name in files:
                    raise BundleError(BundleFault.MALFORMED, "is in the bundle twice", name)
                files[name] = _content(archive, member, name)
    # Everything that a broken archive makes of the reader; it is not ours, and has met stranger things.
    except (tarfile.TarError, EOFError, ValueError, OverflowError, OSError) as error:
        raise BundleError(BundleFault.MALFORMED, f"is not a readable tar archive: {error}") from error
    _refuse_shadowed(files)
    return dict(sorted(files.items()))


def write_archive(files: Mapping[str, bytes]) -> bytes:
    """The same bytes for the same files: sorted, without times and owners."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(safe_name(name))
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    squeezed = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
    return squeezed.compress(packed.getvalue()) + squeezed.flush()


def safe_name(name: str) -> str:
    """`name` relative to the archive's root. Raises `BundleError` for one that leads elsewhere or reads two ways."""
    relative = name.removeprefix("./") if name.startswith("./") else name.removeprefix("/")
    parts = relative.split("/")
    if any(part in {"", ".", ".."} for part in parts) or len(name) > MAX_NAME or not name.isprintable():
        raise BundleError(BundleFault.MALFORMED, "is no name that a file of a bundle may have", name[:MAX_NAME])
    if _FORBIDDEN & set(name):
        raise BundleError(BundleFault.MALFORMED, "is no name that a file of a bundle may have", name[:MAX_NAME])
    return relative


def _unpacked(raw: bytes, max_bytes: int) -> bytes:
    if len(raw) > max_bytes:
        raise BundleError(BundleFault.TOO_LARGE, f"is larger than {max_bytes} bytes")
    reader = zlib.decompressobj(_GZIP)
    try:
        unpacked = reader.decompress(raw, max_bytes + 1)
    except zlib.error as error:
        raise BundleError(BundleFault.MALFORMED, f"is not compressed with gzip: {error}") from error
    if len(unpacked) > max_bytes:
        raise BundleError(BundleFault.TOO_LARGE, f"unpacks to more than {max_bytes} bytes")
    if not reader.eof:
        raise BundleError(BundleFault.MALFORMED, "is cut off")
    if reader.unused_data:
        raise BundleError(BundleFault.MALFORMED, "has something behind its end")
    return unpacked


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> bytes:
    # A sparse file of a few bytes may say that it unpacks to terabytes of zeros.
    if not member.isreg() or member.issparse():
        raise BundleError(BundleFault.MALFORMED, "is a link or a device, where a bundle holds plain files", name)
    reader = archive.extractfile(member)
    content = reader.read(member.size) if reader is not None else b""
    if len(content) != member.size:
        raise BundleError(BundleFault.MALFORMED, "is cut off", name)
    return content


def _refuse_shadowed(files: Mapping[str, bytes]) -> None:
    """No name is a file and a directory: whoever unpacked it would have to choose."""
    for name in files:
        parts = name.split("/")
        for end in range(1, len(parts)):
            if (above := "/".join(parts[:end])) in files:
                raise BundleError(BundleFault.MALFORMED, f"is below {above}, which is a file", name)
