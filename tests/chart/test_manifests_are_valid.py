"""Every values file in `ci/` comes to manifests that Kubernetes, its Pod Security and a linter accept."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from manifest_schemas import validator
from pod_security import violations
from rendering import CHART, Helm, Manifest, containers_of, example, examples, pod_specs

VERSIONS = ("1.35", "1.36", "1.37")
CUSTOM = {"cert-manager.io/v1", "monitoring.coreos.com/v1"}
EXCEPTIONS = Path(__file__).with_name("kube_score_exceptions.yaml")
Rendered = Callable[[str], list[Manifest]]

each_example = pytest.mark.parametrize("name", examples())


@pytest.mark.req("K8S-3", "CON-4")
def test_the_chart_passes_helms_strict_linter(helm: Helm) -> None:
    for name in (None, *examples()):
        values = [] if name is None else ["--values", str(example(name))]
        helm.run("lint", "--strict", "--kube-version", VERSIONS[-1], *values, str(CHART))


@pytest.mark.req("K8S-3", "CON-4")
@each_example
def test_every_manifest_is_valid_in_three_minors_of_kubernetes(rendered: Rendered, name: str) -> None:
    manifests = [one for one in rendered(name) if one["apiVersion"] not in CUSTOM]
    assert manifests
    for version in VERSIONS:
        for one in manifests:
            problem = next(validator(version, one["apiVersion"], one["kind"]).iter_errors(one), None)
            assert problem is None, f"{version}: {one['kind']}: {problem}"


@pytest.mark.req("K8S-3")
@each_example
def test_custom_resources_have_the_fields_that_their_operators_know(rendered: Rendered, name: str) -> None:
    schemas = yaml.safe_load(Path(__file__).with_name("custom_resources.yaml").read_text())
    for one in rendered(name):
        if one["apiVersion"] in CUSTOM:
            jsonschema_rs.validator_for(schemas[one["kind"]]).validate(one)


@pytest.mark.req("K8S-2")
@each_example
def test_every_pod_is_admitted_where_pod_security_is_restricted(rendered: Rendered, name: str) -> None:
    found = [f"{pod}: {why}" for pod, spec in pod_specs(rendered(name)) for why in violations(spec)]
    assert not found


@pytest.mark.req("K8S-2")
@each_example
def test_no_pod_has_a_token_or_a_root_that_it_can_write_to(rendered: Rendered, name: str) -> None:
    for _, spec in pod_specs(rendered(name)):
        assert spec["automountServiceAccountToken"] is False
        for container in containers_of(spec):
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["resources"]["requests"].keys() >= {"cpu", "memory"}
            assert "memory" in container["resources"]["limits"]


@pytest.mark.req("K8S-2")
@each_example
def test_every_mount_has_its_volume_and_every_volume_is_mounted(rendered: Rendered, name: str) -> None:
    for one in rendered(name):
        if one["kind"] in {"Deployment", "StatefulSet"}:
            spec = one["spec"]["template"]["spec"]
            claims = {claim["metadata"]["name"] for claim in one["spec"].get("volumeClaimTemplates", [])}
            volumes = [volume["name"] for volume in spec.get("volumes", [])]
            assert len(volumes) == len(set(volumes))
            assert not [one for one in spec["volumes"] if len(one) != 2], "a volume has one source"
            mounts = {mount["name"] for each in containers_of(spec) for mount in each.get("volumeMounts", [])}
            assert mounts == claims | set(volumes)


@pytest.mark.req("K8S-3")
def test_a_linter_of_manifests_finds_what_is_excepted_with_a_reason_and_nothing_else(
    program: Callable[[str], Path], rendered: Rendered, tmp_path: Path
) -> None:
    exceptions = [
        (one["check"], one.get("in", examples()), one["reason"]) for one in yaml.safe_load(EXCEPTIONS.read_text())
    ]
    unused = {(check, reason) for check, _, reason in exceptions}
    found = []
    for name in examples():
        manifests = tmp_path / f"{name}.yaml"
        manifests.write_text(yaml.safe_dump_all([one for one in rendered(name) if one["apiVersion"] not in CUSTOM]))
        for check, place in findings(program("kube-score"), manifests):
            excepted = {(one, reason) for one, names, reason in exceptions if one == check and name in names}
            unused -= excepted
            found += [] if excepted else [f"{name}: {check}: {place}"]
    assert not found
    assert not unused


def test_a_pod_that_asks_for_more_than_restricted_lets_is_found() -> None:
    spec = {"hostNetwork": True, "volumes": [{"name": "a", "hostPath": {}}], "containers": [{"name": "c"}]}
    assert len(list(violations(spec))) == 6


def findings(kube_score: Path, manifests: Path) -> Iterator[tuple[str, str]]:
    """Give what the linter finds wrong, all its optional checks included: the check, and where."""
    command = [str(kube_score), "score", "--output-format", "json", "--all-default-optional", str(manifests)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    for scored in json.loads(ended.stdout) or ():
        for check in scored["checks"]:
            if not check["skipped"] and check["grade"] < 10:
                comments = "; ".join(f"{one['path']} {one['summary']}" for one in check["comments"] or [])
                yield check["check"]["id"], f"{scored['object_name']}: {comments}"
