"""Our documents are true of the repository: links, dependencies, versions, lock files."""

import re
import tomllib
from pathlib import Path
from typing import Any

from repository import ROOT, imported_modules, our_documents, our_python, text_of

# Packages that are imported under another name than their own.
IMPORTED_AS = {
    "google-re2": "re2",
    "googleapis-common-protos": "google.rpc",
    "gordon-to-regorus": "regorus",
    "grpcio": "grpc",
    "grpcio-health-checking": "grpc_health",
    "grpcio-reflection": "grpc_reflection",
    "opa-python-client": "opa_client",
    "openai-agents": "agents",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter.otlp.proto.http",
    "opentelemetry-sdk": "opentelemetry.sdk",
    "pillow": "PIL",
    "protobuf": "google.protobuf",
    "pydantic-ai-slim": "pydantic_ai",
    "pyjwt": "jwt",
    "pyyaml": "yaml",
}
LINK = re.compile(r"\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(?P<title>.+?)\s*$", re.MULTILINE)


def test_every_link_between_our_documents_leads_somewhere() -> None:
    broken = [
        f"{path} -> {link['target']}"
        for path in our_documents()
        for link in LINK.finditer(FENCED.sub("", text_of(path)))
        if not leads_somewhere(path, link["target"])
    ]
    assert not broken


def test_every_runtime_dependency_is_explained_and_nothing_else() -> None:
    explained = set(re.findall(r"^\| `([\w-]+)` \|", text_of("docs/dependencies.md"), re.MULTILINE))
    assert explained == runtime_dependencies()


def test_every_runtime_dependency_is_imported() -> None:
    imported = {name for path in our_python("gateway/", "sdk/") for name in imported_modules(path)}
    unused = {one for one in runtime_dependencies() if not any(provides(one, name) for name in imported)}
    assert not unused


def test_both_distributions_have_one_version() -> None:
    gateway, sdk = project("pyproject.toml"), project("sdk/pyproject.toml")
    assert gateway["version"] == sdk["version"]
    pinned = [one for one in gateway["dependencies"] if distribution_name(one) == "interlock-sdk"]
    assert pinned == [f"interlock-sdk[toolbox]=={sdk['version']}"]


def test_the_changelog_has_an_entry_for_this_version() -> None:
    version = project("pyproject.toml")["version"]
    assert re.search(rf"^## {re.escape(version)}\b", text_of("CHANGELOG.md"), re.MULTILINE)


def test_every_locked_package_is_pinned_with_hashes_from_no_named_place() -> None:
    for lock in ("requirements.lock", "requirements-dev.lock"):
        entries = re.split(r"\n(?=[a-z])", text_of(lock))
        assert not [one for one in entries if not re.match(r"[\w.-]+==\S+ (; .+ )?\\\n +--hash=sha256:", one)]
        assert "://" not in text_of(lock)


def leads_somewhere(path: str, target: str) -> bool:
    """Tell whether a link of a document leads to a file (and heading) of ours; other sites are taken on trust."""
    if re.match(r"[a-z]+:", target):
        return True
    name, _, fragment = target.partition("#")
    file = (ROOT / path).parent / name if name else ROOT / path
    if not file.exists():
        return False
    return not fragment or fragment in anchors(file)


def anchors(file: Path) -> set[str]:
    """Return the anchors that a Markdown file's headings make."""
    text = FENCED.sub("", file.read_text(encoding="utf-8"))
    titles = (heading["title"].lower() for heading in HEADING.finditer(text))
    return {re.sub(r"[^\w -]", "", title).replace(" ", "-") for title in titles}


def runtime_dependencies() -> set[str]:
    """Return the packages that both distributions ask for, with all extras."""
    gateway, sdk = project("pyproject.toml"), project("sdk/pyproject.toml")
    asked_for = [*gateway["dependencies"], *sdk["dependencies"]]
    extras = [*gateway["optional-dependencies"].values(), *sdk["optional-dependencies"].values()]
    asked_for += [one for extra in extras for one in extra]
    return {distribution_name(one) for one in asked_for} - {"interlock-sdk"}


def provides(dependency: str, name: str) -> bool:
    """Tell whether an imported name belongs to a dependency."""
    module = IMPORTED_AS.get(dependency, dependency.replace("-", "_"))
    return f"{name}.".startswith(f"{module}.")


def project(path: str) -> dict[str, Any]:
    """Return the project table of a ``pyproject.toml``."""
    table: dict[str, Any] = tomllib.loads(text_of(path))["project"]
    return table


def distribution_name(requirement: str) -> str:
    """Return the package that a requirement names."""
    found = re.match(r"[\w-]+", requirement)
    assert found
    return found.group()
