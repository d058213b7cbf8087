"""AdmissionReview v1, as the API server writes and reads it (K8S-1)."""

import json
from typing import Any

import pytest
from interlock_gateway.injection.deciding import FAILED, Outcome, decide
from interlock_gateway.injection.review import BadReviewError, Verdict, answer, read_review
from reviewing import request_of, review_of, small_pod, template

pytestmark = pytest.mark.req("K8S-1")


def test_the_answer_has_the_uid_of_what_was_asked() -> None:
    said: Any = answer("705ab4f5", Verdict())
    assert said == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "705ab4f5", "allowed": True},
    }


def test_a_refusal_has_a_status_that_people_see() -> None:
    said: Any = answer("u", Verdict(refusal="interlock: no"))
    assert said["response"] == {
        "uid": "u",
        "allowed": False,
        "status": {"status": "Failure", "code": 403, "reason": "Forbidden", "message": "interlock: no"},
    }


def test_a_failure_of_ours_refuses() -> None:
    said: Any = answer("u", FAILED)
    assert said["response"]["allowed"] is False
    assert said["response"]["status"]["code"] == 500


def test_warnings_stay_within_what_the_api_server_shows() -> None:
    said: Any = answer("u", Verdict(warnings=tuple("x" * 1000 for _ in range(40))))
    warnings = said["response"]["warnings"]
    assert max(map(len, warnings)) <= 256
    assert sum(map(len, warnings)) <= 4096


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not an object"),
        (b"{}", "not an AdmissionReview of admission.k8s.io/v1"),
        (json.dumps(review_of({}) | {"apiVersion": "admission.k8s.io/v1beta1"}).encode(), "not an AdmissionReview of"),
        (json.dumps(review_of({}) | {"kind": "ConversionReview"}).encode(), "not an AdmissionReview of"),
        (json.dumps(review_of({}) | {"request": None}).encode(), "request: Input should be"),
        (json.dumps(review_of({}, uid="")).encode(), "request.uid: String should have at least 1 character"),
        (json.dumps(review_of({}, uid=7)).encode(), "request.uid: Input should be a valid string"),
        (json.dumps(review_of([])).encode(), "request.object: Input should be a valid dictionary"),
        (json.dumps(review_of({}, operation=None)).encode(), "request.operation: Input should be a valid string"),
    ],
)
def test_what_is_no_review_is_told_so(body: bytes, said: str) -> None:
    with pytest.raises(BadReviewError, match=said.replace(".", r"\.")):
        read_review(body)


@pytest.mark.parametrize(
    "changed",
    [
        {"operation": "UPDATE"},
        {"operation": "DELETE", "object": None},
        {"operation": "CONNECT"},
        {"subResource": "ephemeralcontainers", "operation": "UPDATE"},
        {"subResource": "binding"},
        {"resource": {"group": "apps", "version": "v1", "resource": "deployments"}},
        {"resource": {"group": "other.example", "version": "v1", "resource": "pods"}},
    ],
)
def test_only_the_creation_of_pods_is_looked_at(changed: dict[str, Any]) -> None:
    outcome, verdict = decide(request_of(small_pod(hostNetwork=True), **changed), template())
    assert outcome is Outcome.NOT_ASKED
    assert verdict.allowed
    assert not verdict.patch
    assert "the creation of pods" in verdict.warnings[0]


@pytest.mark.parametrize("dry_run", [True, False, None])
def test_a_dry_run_is_answered_like_any_other(dry_run: bool | None) -> None:
    expected = decide(request_of(small_pod()), template())
    assert decide(request_of(small_pod(), dryRun=dry_run), template()) == expected
