"""AdmissionReview of `admission.k8s.io/v1`: what the API server asks, and what it is answered."""

import base64
import json
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.errors import InterlockError
from interlock_gateway.injection.pod import in_words

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
MOST_WARNINGS = 12
LONGEST_WARNING = 250
"""The API server cuts a warning at 256 characters, and drops those beyond 4096 characters in all."""


class BadReviewError(InterlockError):
    """What was sent is no review that can be answered."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, alias_generator=to_camel)


class GroupVersionKind(_Part):
    """A kind of object."""

    group: str = ""
    version: str = ""
    kind: str = ""


class GroupVersionResource(_Part):
    """A resource, as URLs name it."""

    group: str = ""
    version: str = ""
    resource: str = ""


class Request(_Part):
    """What the API server asks about. `object` is as it was sent."""

    uid: str = Field(min_length=1, max_length=256)
    kind: GroupVersionKind
    resource: GroupVersionResource
    sub_resource: str = ""
    operation: str
    name: str = ""
    namespace: str = ""
    dry_run: bool | None = None
    object: dict[str, Any] | None = None


class _Review(_Part):
    api_version: str
    kind: str
    request: Request


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is answered. A refusal has `refusal`, and `code` as HTTP has it; a patch holds at least one operation."""

    refusal: str = ""
    code: int = 403
    patch: tuple[JsonObject, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether the pod may be made."""
        return not self.refusal


def read_review(body: bytes) -> Request:
    """The request in `body`. Raises `BadReviewError` with a sentence."""
    try:
        review = json.loads(body)
    except (ValueError, RecursionError):
        raise BadReviewError("the body is not JSON") from None
    if not isinstance(review, dict):
        raise BadReviewError("the body is not an object")
    found = (review.get("apiVersion"), review.get("kind"))
    if found != (API_VERSION, KIND):
        raise BadReviewError(f"the body is not an {KIND} of {API_VERSION}")
    try:
        return _Review.model_validate(review).request
    except ValidationError as error:
        raise BadReviewError(f"the review cannot be read: {in_words(error)}") from None


def answer(uid: str, verdict: Verdict) -> JsonObject:
    """The review that is sent back."""
    response: JsonObject = {"uid": uid, "allowed": verdict.allowed}
    if not verdict.allowed:
        reason = "Forbidden" if verdict.code == 403 else "InternalError"  # noqa: PLR2004 - HTTP's own number
        response["status"] = {
            "status": "Failure", "code": verdict.code, "reason": reason, "message": verdict.refusal
        }  # fmt: skip
    if verdict.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(json.dumps(verdict.patch).encode()).decode()
    if verdict.warnings:
        response["warnings"] = [one[:LONGEST_WARNING] for one in verdict.warnings[:MOST_WARNINGS]]
    return {"apiVersion": API_VERSION, "kind": KIND, "response": response}
