"""One policy worker: a process that evaluates Rego and nothing else (ENG-4).

It is started as a script in an isolated interpreter, so that it costs little memory and shares nothing with the
gateway: it imports the standard library's smallest parts and the engine, none of our own modules. Arguments: the
socket's descriptor, the directory that holds the engine's package, the rule to evaluate, the limit of address space
in bytes beyond what the process has at its start, and the seconds of processor time one evaluation may ever use.

The first frame holds the policies (the data, then path and source of each module); each frame after it is one input
document. Every frame is answered, in order, by a frame whose first byte says what the rest is.
"""

import os
import resource
import sys

# Not `signal`: what that adds costs every worker a megabyte.
from _signal import ITIMER_PROF, setitimer  # type: ignore[import-not-found]  # there are stubs for `signal` alone

TYPE_CHECKING = False  # `typing` is not worth its memory here
if TYPE_CHECKING:
    from collections.abc import Iterator

    import regorus

OK, UNDEFINED, ERROR, PANIC = b"\0", b"\1", b"\2", b"\3"
# Below what the C library takes for large: reading into memory mapped for each call anew costs 15 us.
READ_BYTES = 1 << 16
MESSAGE_LIMIT = 4000


def limit_resources(extra_address_space: int) -> None:
    """Bound memory, and leave no core dump behind: it would hold what agents sent."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123 - pathlib is not worth its memory here
            pages = int(statm.read().split()[0])
    except FileNotFoundError:
        return  # Not Linux: there the gateway's timeout alone bounds what an evaluation can take.
    limit = pages * resource.getpagesize() + extra_address_space
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def frames(descriptor: int) -> "Iterator[bytes]":
    """Each frame that arrives; ends when the gateway closes its side or is gone."""
    buffer = bytearray()
    while True:
        piece = os.read(descriptor, READ_BYTES)
        if not piece:
            return
        if not buffer and len(piece) == 4 + int.from_bytes(piece[:4], "little"):
            yield piece[4:]  # most frames arrive alone and whole
            continue
        buffer += piece
        while len(buffer) >= 4 and len(buffer) >= 4 + (size := int.from_bytes(buffer[:4], "little")):  # noqa: PLR2004 - the size of a size
            yield bytes(memoryview(buffer)[4 : 4 + size])
            del buffer[: 4 + size]


def send(descriptor: int, status: bytes, payload: bytes) -> None:
    """Answer one frame."""
    answer = b"%b%b%b" % ((1 + len(payload)).to_bytes(4, "little"), status, payload)
    written = os.write(descriptor, answer)
    while written < len(answer):
        written += os.write(descriptor, memoryview(answer)[written:])


def unpack(payload: bytes) -> list[str]:
    """The texts of a load frame."""
    texts, at = [], 0
    while at < len(payload):
        size = int.from_bytes(payload[at : at + 4], "little")
        texts.append(payload[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return texts


def words(error: BaseException) -> bytes:
    """What the engine says, without its stack."""
    return str(error).split("Stack backtrace:")[0].strip()[:MESSAGE_LIMIT].encode("utf-8", "replace")


def build(payload: bytes) -> "regorus.Engine":
    """An engine with the policies in `payload`. Raises what the engine raises."""
    import regorus  # noqa: PLC0415 - found only once the path to it is set

    data, *pairs = unpack(payload)
    engine = regorus.Engine()
    for path, source in zip(pairs[::2], pairs[1::2], strict=True):
        engine.add_policy(path, source)
    engine.add_data_json(data)
    # Prepares every module now; otherwise the first call would pay for it, and a mistake would show only then.
    engine.eval_query_as_json("1")
    return engine


def load(descriptor: int, requests: "Iterator[bytes]") -> "tuple[regorus.Engine, bytes] | None":
    """The engine with the policies of the first frame, and these; none if they do not load: the gateway is told why."""
    policies = next(requests, None)
    if policies is None:
        return None
    try:
        engine = build(policies)
    except BaseException as error:  # noqa: BLE001 - the engine panics as a BaseException
        send(descriptor, ERROR, words(error))
        return None
    send(descriptor, OK, b"")
    return engine, policies


def evaluate(
    descriptor: int,
    requests: "Iterator[bytes]",
    engine: "regorus.Engine",
    policies: bytes,
    *,
    rule: str,
    processor_seconds: float,
) -> None:
    """Answer until the gateway is gone."""
    for document in requests:
        # The gateway kills a worker that takes too long. This is for the day when the gateway is gone first: the
        # kernel ends the process, without the interpreter's help, once one evaluation has used this much.
        setitimer(ITIMER_PROF, processor_seconds)
        try:
            engine.set_input_json(document.decode())
            answer = engine.eval_rule_as_json(rule)
        except (RuntimeError, ValueError) as error:
            send(descriptor, ERROR, words(error))
        except BaseException as error:  # noqa: BLE001 - the engine panics as a BaseException
            engine = build(policies)
            send(descriptor, PANIC, words(error))
        else:
            if answer == '"<undefined>"':
                send(descriptor, UNDEFINED, b"")
            else:
                send(descriptor, OK, answer.encode())


def main() -> None:
    """Run as a script."""
    descriptor, engine_directory, rule, address_space, processor_seconds = sys.argv[1:]
    # Last, so that nothing beside the engine can take the place of the standard library.
    sys.path.append(engine_directory)
    import regorus  # noqa: F401, PLC0415 - before the limit, which is on what evaluation adds

    limit_resources(int(address_space))
    requests = frames(int(descriptor))
    if loaded := load(int(descriptor), requests):
        evaluate(int(descriptor), requests, *loaded, rule=rule, processor_seconds=float(processor_seconds))


if __name__ == "__main__":
    main()
