"""Imports point one way, and foreign libraries stay in the rooms that need them."""

import ast
import graphlib
import sys
from collections.abc import Iterator

import pytest
from interlock.toolbox.remote.shipping import SHIPPED
from repository import imported_modules, module_name, our_python, tree_of

GATEWAY = "interlock_gateway"
ROOMS = {
    "approvals", "artifacts", "audit", "extensions", "facts", "gatewaytools", "http2", "identity", "injection",
    "pipeline", "policy", "providers", "references", "registry", "results", "sessions", "state", "telemetry",
}  # fmt: skip
# From the inside out: what stands in one line may import from its own line and from those above it.
LAYERS = (
    {"core", "errors"},
    {"cancelled", "clock", "config", "config_loader", "ids", "isolation", "patience", "processors"}
    | {"config_artifacts"}
    | {
        "config_bundles",
        "config_identity",
        "config_attached",
        "config_extmcp",
        "config_mcp",
        "config_opa",
        "config_providers",
        "config_section",
        "config_server",
    }
    | {"config_telemetry"},
    ROOMS,
    {"operate"},
    {"transport"},
    {"entrance", "state_directory"},
    {"serving"},
    {"building"},
    {"app", "figures"},
    {"cli", "demo", "__main__"},
)
LAYER_OF = {package: depth for depth, layer in enumerate(LAYERS) for package in layer}

# What the composition root hands to the pipeline behind a port; the order of events knows none of them.
BEHIND_PORTS = {"artifacts", "audit", "extensions", "policy", "results", "state", "telemetry"}

OUTER = {"app", "serving", "cli", "demo"}
# Foreign libraries that only these packages know, so that each can be replaced in one place.
KNOWN_ONLY_TO = {
    "ada_url": {"facts"},
    "aiohttp": {"policy"},
    "alembic": {"state"},
    "google.protobuf": {"providers", "transport"} | OUTER,
    "grpc": {"providers", "transport"} | OUTER,
    "httptools": {"providers", "transport"},
    "httpx2": {"approvals", "identity", "policy"},
    "interlock": {"extensions", "providers", "references", "transport"} | OUTER,
    "jwt": {"identity", "policy"},
    "jsonschema_rs": {"pipeline"},
    "mcp": {"providers", "transport"} | OUTER,
    "mcp_types": {"providers", "transport"} | OUTER,
    "ngh2": {"http2", "providers", "transport"},
    "obstore": {"artifacts", "policy"},
    "opa_client": {"policy"},
    "opentelemetry": {"telemetry"},
    "prometheus_client": {"telemetry", "transport", "building"},
    "psycopg": {"state"},
    "regorus": {"policy"},
    "requests": {"telemetry"},
    "rich": {"cli", "demo"},
    "sqlalchemy": {"state"},
    "sqlglot": {"facts"},
    "starlette": {"transport"},
    "typer": {"cli"},
    "uvicorn": {"transport"},
}

# What each part of the SDK that is an extra is made of: the adapters, what they adapt.
EXTRAS = {
    "sdk/interlock/adapters/langchain.py": {"langchain", "langchain_core", "langgraph"},
    "sdk/interlock/adapters/langgraph.py": {"langchain_core", "langgraph"},
    "sdk/interlock/adapters/openai_agents.py": {"agents"},
    "sdk/interlock/adapters/pydantic_ai.py": {"pydantic_ai", "pydantic_core"},
    "sdk/interlock/toolbox/images.py": {"PIL"},
    "sdk/interlock/toolbox/remote/ssh.py": {"asyncssh"},
}

# The ways to the operating system, which only operations know.
SYSTEM = {
    *("asyncssh", "ctypes", "fcntl", "glob", "importlib", "io", "os", "pathlib", "shutil", "signal", "socket"),
    *("subprocess", "tempfile"),
}


def test_a_gateway_module_imports_only_from_its_own_layer_or_further_in() -> None:
    for path, package in gateway_modules():
        assert package in LAYER_OF, f"give {package} its place in LAYERS"
        for imported in imported_packages(path):
            assert imported in LAYER_OF, f"give {imported} its place in LAYERS"
            assert LAYER_OF[imported] <= LAYER_OF[package], f"{path} reaches out to {imported}"


def test_the_core_imports_only_the_standard_library_and_itself() -> None:
    for path in our_python(f"gateway/{GATEWAY}/core/"):
        names = [name for name in imported_modules(path) if not name.startswith(f"{GATEWAY}.core")]
        foreign = [name for name in names if name.split(".")[0] not in sys.stdlib_module_names]
        assert not foreign, f"{path} imports {foreign}"


def test_the_core_does_no_input_or_output() -> None:
    reaching_out = {"asyncio", "os", "pathlib", "socket", "subprocess", "threading"}
    for path in our_python(f"gateway/{GATEWAY}/core/"):
        found = {name.split(".")[0] for name in imported_modules(path)} & reaching_out
        assert not found, f"{path} imports {found}"


def test_the_pipeline_knows_its_stores_and_engines_only_by_their_ports() -> None:
    for path in our_python(f"gateway/{GATEWAY}/pipeline/"):
        found = imported_packages(path) & BEHIND_PORTS
        assert not found, f"{path} imports {found}"


def test_a_foreign_library_is_known_only_to_its_rooms() -> None:
    for path, package in gateway_modules():
        for library, rooms in KNOWN_ONLY_TO.items():
            known = any(f"{name}.".startswith(f"{library}.") for name in imported_modules(path))
            assert package in rooms or not known, f"{path} imports {library}"


def test_nothing_in_the_sdk_imports_the_gateway() -> None:
    for path in our_python("sdk/"):
        assert GATEWAY not in {name.split(".")[0] for name in imported_modules(path)}, path


def test_the_sdk_imports_only_grpc_and_protobuf_besides_the_standard_library() -> None:
    allowed = {"interlock", "grpc", "google"} | sys.stdlib_module_names
    for path in our_python("sdk/"):
        extra = EXTRAS.get(path, set())
        foreign = {name.split(".")[0] for name in imported_modules(path)} - allowed - extra
        assert not foreign, f"{path} imports {foreign}"


@pytest.mark.req("BOX-1")
def test_no_tool_of_the_toolbox_calls_the_operating_system_itself() -> None:
    for path in our_python("sdk/interlock/toolbox/tools/"):
        found = {name.split(".")[0] for name in imported_modules(path)} & SYSTEM
        assert not found, f"{path} imports {found}"
        named = {node.id for node in ast.walk(tree_of(path)) if isinstance(node, ast.Name)}
        assert not named & {"open", "exec", "eval", "__import__"}, path


def test_what_runs_on_another_host_imports_only_what_goes_there() -> None:
    there = {f"{package}.{name}" for package, names in SHIPPED.items() for name in names} | set(SHIPPED)
    for package, names in SHIPPED.items():
        for name in names:
            path = f"sdk/{package.replace('.', '/')}/{name}.py"
            foreign = {one for one in imported_modules(path) if one.split(".")[0] not in sys.stdlib_module_names}
            assert {one for one in foreign if one not in there and one.rpartition(".")[0] not in there} == set(), path


def test_no_module_imports_itself_by_a_detour() -> None:
    modules = {module_name(path): path for path in our_python("gateway/", "sdk/")}
    graph: graphlib.TopologicalSorter[str] = graphlib.TopologicalSorter()
    for name, path in modules.items():
        graph.add(name, *(found for found in imported_when_loaded(path, modules) if found != name))
    graph.prepare()


def gateway_modules() -> Iterator[tuple[str, str]]:
    """Give each of the gateway's files with the package (or top-level module) that it belongs to."""
    for path in our_python(f"gateway/{GATEWAY}/"):
        if package := package_of(module_name(path)):
            yield path, package


def imported_packages(path: str) -> set[str]:
    """Return the gateway's packages that a file imports from."""
    names = [name for name in imported_modules(path) if name.split(".")[0] == GATEWAY]
    return {package for name in names if (package := package_of(name))}


def package_of(module: str) -> str:
    """Return the gateway's package or top-level module that a dotted name belongs to; empty for the root package."""
    return module.split(".")[1] if "." in module else ""


def imported_when_loaded(path: str, modules: dict[str, str]) -> Iterator[str]:
    """Give the modules of ours that loading a file loads: not what a function imports, nor what only types need."""
    for node in tree_of(path).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules else node.module for name in names if node.module in modules)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
