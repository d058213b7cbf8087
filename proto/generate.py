"""Generate the Python stubs of the protos: ours into ``sdk/interlock/v1``, those of others where they are served.

The stubs are committed, so that installing the SDK needs no compiler. Run without arguments after changing a
``.proto``; ``--check`` writes nothing and exits with 1 when what is committed is not what the protos and the installed
``grpcio-tools`` produce. Run it with the ``grpcio-tools`` of the lock file: the version is part of what is generated.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib import resources
from pathlib import Path

from google.protobuf import descriptor_pb2
from grpc_tools import protoc

PROTO_ROOT = Path(__file__).resolve().parent
ROOT = PROTO_ROOT.parent
PACKAGES = {
    Path("interlock/v1"): ROOT / "sdk/interlock/v1",
    Path("agentgateway/dev/ext_mcp"): ROOT / "gateway/interlock_gateway/transport/extmcp/stubs",
}
"""Where the stubs of each package go."""
GENERATED = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py", "*_pb2_grpc.pyi", "__init__.py")
PACKAGE_DOCSTRING = '"""Generated stubs of {}; written by ``proto/generate.py``."""\n'
OURS = "the Interlock contract"


def main(arguments: list[str] | None = None) -> int:
    """Generate or check the stubs; 0 when they are up to date afterwards, 1 when ``--check`` finds them stale."""
    parser = argparse.ArgumentParser(description="Generate the Python stubs of the protos.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when the committed stubs are stale")
    check_only = parser.parse_args(arguments).check
    stale = [name for package, stubs in PACKAGES.items() for name in brought_up(package, stubs, check_only=check_only)]
    if check_only:
        for name in stale:
            print(f"stale: {name}", file=sys.stderr)
        return 1 if stale else 0
    return 0


def brought_up(package: Path, stubs: Path, *, check_only: bool) -> list[str]:
    """Bring the stubs of ``package`` up to date unless ``check_only``; which files were stale."""
    with tempfile.TemporaryDirectory() as scratch:
        wanted = generate(Path(scratch), package)
    committed = read_stubs(stubs)
    stale = sorted(name for name in wanted.keys() | committed.keys() if wanted.get(name) != committed.get(name))
    if not check_only:
        write_stubs(stubs, wanted, stale)
    return [str((stubs / name).relative_to(ROOT)) for name in stale]


def generate(target: Path, package: Path) -> dict[str, bytes]:
    """Return all stubs of ``package`` by file name, generated under ``target``; exits when a proto does not compile."""
    protos = sorted(path.relative_to(PROTO_ROOT).as_posix() for path in (PROTO_ROOT / package).glob("*.proto"))
    services = [proto for proto in protos if proto.endswith("_service.proto")]
    descriptors = target / "descriptors.binpb"
    run_protoc(protos, f"--python_out={target}", f"--pyi_out={target}", f"--descriptor_set_out={descriptors}")
    if services:
        run_protoc(services, f"--grpc_python_out={target}")
    stub_directory = target / package
    for proto in descriptor_pb2.FileDescriptorSet.FromString(descriptors.read_bytes()).file:
        if proto.service and proto.name in services:
            types = stub_directory / f"{Path(proto.name).stem}_pb2_grpc.pyi"
            types.write_text(service_types(proto), encoding="utf-8")
    what = OURS if package.parts[0] == "interlock" else ".".join(package.parts)
    (stub_directory / "__init__.py").write_text(PACKAGE_DOCSTRING.format(what), encoding="utf-8")
    return read_stubs(stub_directory)


def run_protoc(protos: list[str], *outputs: str) -> None:
    """Compile ``protos``; raises SystemExit with protoc's code when that fails (protoc prints why)."""
    well_known_types = resources.files("grpc_tools") / "_proto"
    code = protoc.main(["protoc", f"--proto_path={PROTO_ROOT}", f"--proto_path={well_known_types}", *outputs, *protos])
    if code != 0:
        raise SystemExit(code)


def service_types(proto: descriptor_pb2.FileDescriptorProto) -> str:
    """Return the type stub of a ``_pb2_grpc`` module, which grpcio-tools leaves untyped.

    Calls and answers are ``Any``, because the same classes serve the synchronous and the asyncio API.
    """
    module = f"{Path(proto.name).stem}_pb2"
    lines = ["from typing import Any", "", f"from {proto.package} import {module}"]
    for service in proto.service:
        lines += ["", f"class {service.name}Stub:", "    def __init__(self, channel: Any) -> None: ..."]
        lines += [f"    {method.name}: Any" for method in service.method]
        lines += ["", f"class {service.name}Servicer:"]
        lines += [servicer_method(method, module) for method in service.method]
        servicer = f"{service.name}Servicer"
        lines += ["", f"def add_{servicer}_to_server(servicer: {servicer}, server: Any) -> None: ..."]
    return "\n".join(lines) + "\n"


def servicer_method(method: descriptor_pb2.MethodDescriptorProto, module: str) -> str:
    """Return the type stub of one servicer method."""
    request = "Any" if method.client_streaming else f"{module}.{method.input_type.rsplit('.', 1)[-1]}"
    argument = "request_iterator" if method.client_streaming else "request"
    return f"    def {method.name}(self, {argument}: {request}, context: Any) -> Any: ..."


def read_stubs(directory: Path) -> dict[str, bytes]:
    """Return the contents of the generated files in ``directory`` by name; empty when it does not exist."""
    return {path.name: path.read_bytes() for pattern in GENERATED for path in directory.glob(pattern)}


def write_stubs(directory: Path, wanted: dict[str, bytes], stale: list[str]) -> None:
    """Bring the ``stale`` files in ``directory`` up to date, removing those that no proto asks for any more."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in stale:
        if name in wanted:
            (directory / name).write_bytes(wanted[name])
        else:
            (directory / name).unlink()


if __name__ == "__main__":
    sys.exit(main())
