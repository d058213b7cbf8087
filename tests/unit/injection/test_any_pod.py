"""Whatever is sent as a pod is answered, and none that asks is let through without the sidecar (K8S-1)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock_gateway.injection.deciding import Outcome, decide
from reviewing import patched, request_of, template

pytestmark = pytest.mark.req("K8S-1")
KEYS = [
    "name", "image", "env", "envFrom", "ports", "containerPort", "protocol", "volumeMounts", "mountPath",
    "securityContext",
    "privileged", "runAsUser", "capabilities", "add", "procMount", "restartPolicy", "hostPath", "path", "secret",
    "secretName", "projected", "sources", "persistentVolumeClaim", "claimName", "value", "valueFrom", "volumeDevices",
]  # fmt: skip
NAMES = ["agent", "interlock", "interlock-opa", "interlock-state", "interlock-socket", "/run/interlock", "", "Always"]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(NAMES)
    | st.text(max_size=5)
)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
ITEMS = st.fixed_dictionaries({"name": st.sampled_from(NAMES)}, optional=dict.fromkeys(KEYS[2:], ANYTHING))
LISTS = st.lists(ITEMS, max_size=3) | ANYTHING
SPECS = ANYTHING | st.fixed_dictionaries(
    {"containers": LISTS},
    optional={
        **dict.fromkeys(("initContainers", "ephemeralContainers", "volumes"), LISTS),
        **dict.fromkeys(("hostNetwork", "hostPID", "shareProcessNamespace"), st.none() | st.booleans() | ANYTHING),
        "securityContext": ANYTHING,
    },
)
WORDS = st.dictionaries(
    st.sampled_from(["interlock.dev/inject", "interlock.dev/agents", "interlock.dev/injected", "~/x"]),
    st.sampled_from(["true", "agent", template().digest, ","]),
)
METADATA = ANYTHING | st.fixed_dictionaries({}, optional={"annotations": WORDS | ANYTHING, "labels": ANYTHING})


@settings(deadline=None, max_examples=150)
@given(metadata=METADATA, spec=SPECS)
def test_no_pod_that_asks_is_allowed_without_the_sidecar(metadata: Any, spec: Any) -> None:
    whole = {"metadata": metadata, "spec": spec}
    outcome, verdict = decide(request_of(whole), template())
    if outcome is Outcome.INJECTED:
        containers = patched(whole, list(verdict.patch))["spec"]["initContainers"]
        assert containers[: len(template().init_containers)] == template().init_containers
    elif outcome is Outcome.ALREADY:
        assert {"interlock", "interlock-opa"} <= {one["name"] for one in spec["initContainers"]}
    else:
        assert outcome is Outcome.REFUSED
        assert verdict.refusal
        assert not verdict.allowed
