"""Pods written down as they are made, reviews of them, and patches put into force by another hand than ours."""

import base64
import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from interlock_gateway.injection.deciding import Outcome, decide
from interlock_gateway.injection.review import Request, Verdict, answer, read_review
from interlock_gateway.injection.template import Template, load_template
from jsonpointer import JsonPointer

HERE = Path(__file__).parent
TEMPLATE_FILE = HERE / "template.yaml"
PODS = {file.stem: file for file in sorted((HERE / "pods").glob("*.yaml"))}
DEAF = {"capabilities": {"drop": ["NET_RAW"]}}
"""The security context of a container that does not hear its neighbours."""
INJECTABLE = ("deployment", "job", "meshed", "notebook", "postgresql")


@cache
def template() -> Template:
    """The template, as it is read from its file."""
    return load_template(TEMPLATE_FILE)


def pod(name: str) -> dict[str, Any]:
    """One of the pods."""
    found: dict[str, Any] = yaml.safe_load(PODS[name].read_text(encoding="utf-8"))
    return found


def small_pod(**spec: Any) -> dict[str, Any]:
    """A pod that asks, with one container `agent`, and what is said of it."""
    labels = {"interlock.dev/inject": "true"}
    agent = {"name": "agent", "image": "agent:1", "securityContext": DEAF}
    whole = {"containers": [agent], "automountServiceAccountToken": False, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "small", "labels": labels}, "spec": whole}


def review_of(whole: Any, **changed: Any) -> dict[str, Any]:
    """What the API server sends for a pod."""
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    asked = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "namespace": "research",
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller", "groups": []},
        "object": whole,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": asked | changed}


def request_of(whole: Any, **changed: Any) -> Request:
    """The same, read."""
    return read_review(json.dumps(review_of(whole, **changed)).encode())


def decided(whole: Any, made: Template | None = None) -> tuple[Outcome, Verdict]:
    """What becomes of a pod."""
    return decide(request_of(whole), made or template())


def refusal_of(whole: Any) -> str:
    """Why a pod is refused."""
    outcome, verdict = decided(whole)
    assert outcome is Outcome.REFUSED, outcome
    assert not verdict.patch
    return verdict.refusal


def injected(whole: dict[str, Any], made: Template | None = None) -> dict[str, Any]:
    """A pod with the patch that it is answered with in force, read from the answer as the API server does."""
    outcome, verdict = decided(whole, made)
    assert outcome is Outcome.INJECTED, verdict.refusal
    response: Any = json.loads(json.dumps(answer("u", verdict)))["response"]
    assert response["patchType"] == "JSONPatch"
    return patched(whole, json.loads(base64.b64decode(response["patch"])))


def patched(whole: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    """`whole` after `add` operations as RFC 6902 has them: into what is there, and never over an item of a list."""
    result = copy.deepcopy(whole)
    for operation in operations:
        assert operation["op"] == "add"
        parent, last = JsonPointer(operation["path"]).to_last(result)
        assert parent is not None, operation["path"]
        value = copy.deepcopy(operation["value"])
        if isinstance(parent, list):
            parent.insert(len(parent) if last == "-" else int(str(last)), value)
        else:
            parent[last] = value
    return result
