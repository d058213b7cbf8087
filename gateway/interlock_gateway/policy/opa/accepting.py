"""Whether the policies that OPA has may decide: what is asked of every other source's policies, and of the way there.

OPA takes what it is given. It lets policies read its environment and the clock, lets tests stand among the rules, and
looks at a signature only if it was told to.
"""

import json
from collections.abc import Iterable
from itertools import product

from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.bundles.errors import BundleError, BundleFault
from interlock_gateway.policy.bundles.loading import as_it_stands, refuse_renamed
from interlock_gateway.policy.bundles.manifest import MANIFEST, Manifest, read_manifest
from interlock_gateway.policy.inspection import refuse_unsafe
from interlock_gateway.policy.opa.found import OPAS_OWN, OURS, FoundPolicies, OpaModule, Path, owners

_TEST_PACKAGE = "_test"


def fit_to_decide(found: FoundPolicies) -> PolicyBundle:
    """The policies as a bundle like any other, safe (ENG-5), and called what they are. Blocks.

    Its own tests have not been run. Raises `PolicySourceError`, with file and line where there is one, and
    `InspectionError` when it cannot be told.
    """
    for manifest in found.manifests.values():
        _manifest(manifest)
    for module in found.modules:
        _refuse_reach(module)
    _refuse_tests_that_decide(found.modules)
    bundle = as_it_stands({module.id: module.source for module in found.modules}, found.data)
    refuse_unsafe(bundle, tests_are_loaded=True)
    refuse_renamed(bundle, found.data)
    if bundle.policy != found.claimed:
        problem = f"answers as {found.claimed.revision} ({found.claimed.profile}), and is {bundle.revision}"
        raise BundleError(BundleFault.NOT_LOADABLE, f"{problem} ({bundle.profile})")
    return bundle


def sequence_of(found: FoundPolicies) -> int | None:
    """Where the bundle of the package `interlock` stands in its order; absent when it does not say, or is not one."""
    homes = owners(found.manifests, frozenset({OURS}))
    read = [_manifest(manifest) for manifest in homes.values()]
    return read[0].metadata.interlock.sequence if len(read) == 1 else None


def _manifest(manifest: JsonObject) -> Manifest:
    """Read one. Raises `BundleError` for WebAssembly, which OPA would run in place of rules, and for Rego 0."""
    return read_manifest({MANIFEST: json.dumps(manifest).encode()})


def _refuse_reach(module: OpaModule) -> None:
    """Nothing outside of what was read may matter: not what is not known, and not what OPA keeps for itself."""
    if () in module.references:
        problem = "reads all of `data`, and so what belongs to no policy that could be looked at"
        raise BundleError(BundleFault.NOT_LOADABLE, problem, module.id)
    if module.package[:1] == (OPAS_OWN,) or any(path[0] == OPAS_OWN for path in module.references):
        raise BundleError(BundleFault.NOT_LOADABLE, "reads data.system, which OPA changes by itself", module.id)


def _refuse_tests_that_decide(modules: Iterable[OpaModule]) -> None:
    """Tests are not looked at as rules are: OPA loads them, and so none may be where a rule would meet them."""
    everything = tuple(modules)
    tests = [module for module in everything if module.is_test]
    for test in tests:
        if not test.package[-1].endswith(_TEST_PACKAGE):
            problem = f"is called a test, and is in the package {'.'.join(test.package)}, which decides"
            raise BundleError(BundleFault.NOT_LOADABLE, problem, test.id)
    packages = {test.package for test in tests}
    for module, package in product((one for one in everything if not one.is_test), packages):
        if module.package[: len(package)] == package or any(_meets(one, package) for one in module.references):
            problem = f"reaches tests, those in the package {'.'.join(package)}"
            raise BundleError(BundleFault.NOT_LOADABLE, problem, module.id)


def _meets(reference: Path, package: Path) -> bool:
    length = min(len(reference), len(package))
    return reference[:length] == package[:length]
