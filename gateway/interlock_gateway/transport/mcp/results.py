"""From the core's answer to a `tools/call` result: what was decided, and what a model does next, as text it reads."""

import json
from typing import Any

from mcp_types.version import MODERN_PROTOCOL_VERSIONS, is_version_at_least

from interlock_gateway.core.call import CallResult, CallStatus, ReflectionForm
from interlock_gateway.core.content import Artifact
from interlock_gateway.core.decision import Decision
from interlock_gateway.core.outcome import Preview
from interlock_gateway.transport.mcp.content import LINKS_SINCE, content_of, fitted, text_of
from interlock_gateway.transport.mcp.reflecting import words_for

DECISION_META = "dev.interlock/decision"
CALL_META = "dev.interlock/call_id"
STATUS_META = "dev.interlock/status"
PENDING_META = "dev.interlock/pending"
PREVIEW_META = "dev.interlock/preview"
ARTIFACT_META = "dev.interlock/artifact"
REDACTIONS_META = "dev.interlock/redactions"
REFLECTION_META = "dev.interlock/reflection"
CHECKPOINT_META = "dev.interlock/checkpoint"
UNKNOWN = (
    "It is not known whether this call took effect. Do not repeat it: find out first what happened, or ask a person."
)


def call_result(result: CallResult, version: str) -> dict[str, Any]:
    """The answer to a call, for a client that speaks `version`."""
    content = [fitted(content_of(part, version), version) for part in result.content]
    content += [text_of(line) for line in _words(result)]
    if result.artifact is not None:
        content.append(_link(result.artifact, version))
    content += [text_of(line) for line in result.steering]
    answer: dict[str, Any] = {
        "resultType": "complete",
        "content": content,
        "isError": is_error(result),
        "_meta": meta_of(result),
    }
    if result.has_data:
        fits = isinstance(result.data, dict) or version in MODERN_PROTOCOL_VERSIONS
        answer["structuredContent"] = result.data if fits else {"result": result.data}
    return answer


def is_error(result: CallResult) -> bool:
    """Whether the model should read the answer as an error: the tool says so, or it did not run and will not."""
    return result.is_error or result.status in {CallStatus.DENIED, CallStatus.FAILED, CallStatus.OUTCOME_UNKNOWN}


def meta_of(result: CallResult) -> dict[str, Any]:
    """What programs read of an answer."""
    meta: dict[str, Any] = {CALL_META: result.call_id, STATUS_META: result.status.value}
    if result.decision is not None:
        meta[DECISION_META] = _decision(result.decision)
    if result.pending is not None:
        meta[PENDING_META] = {
            "pending_id": result.pending.pending_id,
            "label": result.pending.label,
            "source_tool": result.pending.source_tool,
            "expires_at": result.pending.expires_at,
        }
    if result.preview is not None:
        meta[PREVIEW_META] = {
            "would_affect": list(result.preview.would_affect),
            "estimated_impact": result.preview.estimated_impact,
        }
    if result.artifact is not None:
        meta[ARTIFACT_META] = {"uri": result.artifact.uri, "bytes": result.artifact.total_bytes}
    if result.reflection is not None:
        meta[REFLECTION_META] = form_meta(result.reflection)
    if result.checkpoint is not None:
        meta[CHECKPOINT_META] = {
            "checkpoint_id": result.checkpoint.checkpoint_id,
            "expires_at": result.checkpoint.expires_at,
        }
    if result.redactions:
        meta[REDACTIONS_META] = result.redactions
    return meta


def form_meta(form: ReflectionForm) -> dict[str, Any]:
    """What programs read of a form."""
    return {"schema": dict(form.schema), "call_digest": form.call_digest}


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "id": decision.decision_id,
        "verdict": decision.verdict.value,
        "reasons": [{"code": one.code, "message": one.message, "rule": one.rule} for one in decision.reasons],
        "policy_revision": decision.policy_revision,
        "profile": decision.profile,
    }


def _words(result: CallResult) -> list[str]:
    """What the status says that the parts of the result do not."""
    if result.status is CallStatus.DENIED and not result.content and result.decision is not None:
        return [result.decision.message or "The call was denied."]
    if result.status is CallStatus.OUTCOME_UNKNOWN:
        return [UNKNOWN]
    if result.reflection is not None:
        return [words_for(result.reflection)]
    return _of_preview(result.preview) if result.preview is not None else []


def _of_preview(preview: Preview) -> list[str]:
    lines = []
    if preview.would_affect:
        lines.append(f"It would affect: {', '.join(preview.would_affect)}")
    if preview.estimated_impact is not None:
        lines.append(f"Estimated impact: {json.dumps(preview.estimated_impact, ensure_ascii=False)}")
    return lines


def _link(artifact: Artifact, version: str) -> dict[str, Any]:
    words = f"The whole result: {artifact.total_bytes} bytes, {artifact.total_lines} lines"
    if not is_version_at_least(version, LINKS_SINCE):
        return text_of(f"{words}: {artifact.uri}")
    return {
        "type": "resource_link",
        "uri": artifact.uri,
        "name": f"artifact-{artifact.sha256[:12]}",
        "description": f"{words}. Read it with read_artifact or resources/read, search it with search_artifact.",
        "mimeType": artifact.media_type,
        "size": artifact.total_bytes,
    }
