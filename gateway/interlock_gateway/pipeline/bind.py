"""What a decision is bound to: the digest of the call (CHK-3)."""

from interlock_gateway.core.digest import BoundCall
from interlock_gateway.core.document import Document
from interlock_gateway.pipeline.canonical import canonical, canonical_without_floats
from interlock_gateway.pipeline.run import CallRun


def call_digest(run: CallRun, document: Document, revision: str) -> str:
    """SHA-256 over the canonical JSON of principal, session, tool, pin, workdir, input and policy revision."""
    bound = BoundCall(
        principal=run.principal.id,
        session=run.session_id,
        tool=run.known_tool.name,
        pin=run.known_tool.sha256,
        workdir=run.request.workdir,
        input=document.value,
        policy_revision=revision,
    )
    return bound.digest(canonical_without_floats if document.exact_integers_only else canonical, document.hashed)
