"""What all processes have in common that work on inputs in the gateway's place (REL-7)."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from interlock_gateway.pipeline import reading_worker, schema_worker
from interlock_gateway.pipeline.aside_process import AsideProcess
from interlock_gateway.pipeline.aside_worker import PIECE

SCHEMA = json.dumps({"required": ["a"]}).encode()


@contextmanager
def started(worker: ModuleType, memory_bytes: int = 0) -> Iterator[AsideProcess]:
    process = AsideProcess(worker, memory_bytes=memory_bytes, environment={})
    process.connection.settimeout(60)
    try:
        yield process
    finally:
        process.end()


def limit_of(process_id: int, name: str) -> str:
    found = re.search(rf"^{name} +(\S+) +(\S+)", Path(f"/proc/{process_id}/limits").read_text(), re.MULTILINE)
    assert found is not None
    assert found[1] == found[2], "it could be raised again"
    return found[1]


def first_piece(process: AsideProcess, request: bytes) -> bytes:
    process.connection.sendall(request)
    return process.connection.recv(PIECE.size)[:1]


@pytest.mark.req("REL-7")
def test_it_has_as_much_memory_as_it_is_given_and_leaves_no_core_behind() -> None:
    check = schema_worker.REQUEST.pack(schema_worker.CHECK, len(SCHEMA), 2) + SCHEMA + b"{}"
    with started(schema_worker, memory_bytes=2**30) as process:
        assert first_piece(process, check) == schema_worker.UNFIT
        assert limit_of(process.process_id, "Max address space") == str(2**30)
        assert limit_of(process.process_id, "Max core file size") == "0"


@pytest.mark.req("REL-7")
def test_what_checks_schemas_is_not_loaded_for_an_input_without_one() -> None:
    with started(reading_worker) as process:
        assert first_piece(process, reading_worker.REQUEST.pack(8, 0, 2) + b"{}") == reading_worker.CANONICAL
        assert "jsonschema_rs" not in Path(f"/proc/{process.process_id}/maps").read_text()


@pytest.mark.req("REL-7")
@pytest.mark.parametrize("worker", [reading_worker, schema_worker])
def test_it_ends_with_the_object_that_has_it(worker: ModuleType) -> None:
    process = AsideProcess(worker, environment={})
    process_id = process.process_id
    assert Path(f"/proc/{process_id}").exists()
    del process
    assert not Path(f"/proc/{process_id}").exists()
