"""What OPA has of the gateway's policies, put together from its answers: rules, settings, where they come from.

OPA knows no bundle any more once it has loaded one: it has modules, a tree of data in which rules show their values,
and the manifests. What decides is the package `interlock`, and all that it can reach by what OPA has compiled.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from interlock_gateway.core.answer import ActivePolicy
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.policy.bundle import TEST_SUFFIX
from interlock_gateway.policy.opa.faults import OpaFaultError, Trouble

OURS = "interlock"
OPAS_OWN = "system"
Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpaModule:
    """A module as OPA has it: `package` without `data`, its rules by name, and the paths in `data` that they refer to.

    A reference is as long as its names are certain; `open` ones go on from there to something that only a call's input
    says, or stand for all that is below.
    """

    id: str
    source: str
    package: Path
    rules: frozenset[str]
    references: frozenset[Path]

    @property
    def is_test(self) -> bool:
        """Whether the gateway would not let it decide, by its name. OPA does not ask."""
        return self.id.endswith(TEST_SUFFIX)


@dataclass(frozen=True, slots=True)
class FoundPolicies:
    """What decides in OPA: `claimed` is what it calls itself, `modules` by the names that they had in their bundle.

    `manifests` are those of the bundles that it is from. `digest` changes with any of it.
    """

    claimed: ActivePolicy
    modules: tuple[OpaModule, ...]
    data: JsonObject
    manifests: Mapping[str, JsonObject]

    @property
    def digest(self) -> str:
        """One word for all of it but what it calls itself."""
        sources = [(module.id, module.source) for module in self.modules]
        text = json.dumps([sources, self.data, self.manifests], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


def read_modules(document: JsonObject) -> tuple[OpaModule, ...]:
    """The modules in OPA's answer about its policies. Raises `OpaFaultError`."""
    listed = document.get("result")
    try:
        if isinstance(listed, list):
            return tuple(sorted(map(_module, listed), key=lambda module: module.id))
    except (KeyError, TypeError, IndexError, AttributeError, RecursionError):
        pass
    raise OpaFaultError(Trouble.MALFORMED, "its answer about its policies is not one")


def reached(modules: Iterable[OpaModule]) -> tuple[OpaModule, ...]:
    """The modules of the package `interlock`, and all in parts of `data` that these refer to."""
    everything = tuple(modules)
    roots: frozenset[str] = frozenset()
    wanted = frozenset({OURS})
    while roots != wanted:
        roots = wanted
        found = [module for module in everything if module.package[:1] and module.package[0] in roots]
        wanted = roots | {path[0] for module in found for path in module.references if path}
    return tuple(module for module in everything if module.package[:1] and module.package[0] in roots)


def roots_of(modules: Iterable[OpaModule]) -> frozenset[str]:
    """The parts of `data` that these modules are in or refer to."""
    found = tuple(modules)
    named = {path[0] for module in found for path in module.references if path}
    return frozenset({OURS, *(module.package[0] for module in found), *named})


def owners(manifests: Mapping[str, JsonObject], roots: frozenset[str]) -> dict[str, JsonObject]:
    """The manifests of the bundles that hold something at these places."""
    return {name: manifest for name, manifest in manifests.items() if _tops(manifest) & {"", *roots}}


def named_in_bundle(modules: Iterable[OpaModule], manifests: Mapping[str, JsonObject]) -> tuple[OpaModule, ...]:
    """The modules under the names that they had in the bundle of the package `interlock`; others keep OPA's."""
    homes = [name for name, manifest in manifests.items() if _tops(manifest) & {"", OURS}]
    prefix = f"{homes[0].rstrip('/')}/" if len(homes) == 1 else ""
    return tuple(
        OpaModule(module.id.removeprefix(prefix), module.source, module.package, module.rules, module.references)
        for module in modules
    )


def without_rules(data: JsonObject, modules: Iterable[OpaModule]) -> JsonObject:
    """`data` as it was given to OPA: without the values of rules, and the places that only they have."""
    tree: Any = json.loads(json.dumps(data))
    packages = {module.package for module in modules}
    for module in modules:
        node = _at(tree, module.package)
        for name in module.rules if isinstance(node, dict) else ():
            node.pop(name, None)
    for package in sorted(packages, key=len, reverse=True):
        for length in range(len(package), 1, -1):
            above = _at(tree, package[: length - 1])
            if isinstance(above, dict) and above.get(package[length - 1]) == {}:
                del above[package[length - 1]]
    result: JsonObject = tree
    return result


def _module(listed: Any) -> OpaModule:
    tree = listed["ast"]
    package = tuple(part["value"] for part in tree["package"]["path"][1:])
    rules = frozenset(rule["head"]["ref"][0]["value"] for rule in tree.get("rules") or ())
    if not isinstance(listed["id"], str) or not isinstance(listed["raw"], str):
        raise TypeError(listed["id"])
    return OpaModule(listed["id"], listed["raw"], package, rules, frozenset(_references(tree.get("rules") or ())))


def _references(tree: Any) -> Iterator[Path]:
    """The paths below `data` that a part of a compiled module refers to; `data` itself, or `data[x]`, is ()."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, list):
            left += node
            continue
        if not isinstance(node, dict):
            continue
        value = node.get("value")
        if node.get("type") == "ref" and isinstance(value, list) and _is_data(value[0]):
            yield _certain(value[1:])
            left += value[1:]
        elif _is_data(node):
            yield ()
        else:
            left += [inner for key, inner in node.items() if key != "annotations"]


def _is_data(node: Any) -> bool:
    return isinstance(node, dict) and node.get("type") == "var" and node.get("value") == "data"


def _certain(parts: list[Any]) -> Path:
    path = []
    for part in parts:
        if part.get("type") != "string":
            break
        path.append(part["value"])
    return tuple(path)


def _tops(manifest: JsonObject) -> set[str]:
    """The first names of a bundle's roots; an empty one for a bundle that owns everything."""
    roots = manifest.get("roots")
    return {str(root).strip("/").partition("/")[0] for root in roots} if isinstance(roots, list) and roots else {""}


def _at(tree: Any, path: Path) -> Any:
    for part in path:
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree
