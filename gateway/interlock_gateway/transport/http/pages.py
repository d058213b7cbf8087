"""The pages behind a link: what is asked, and what came of it. Plain HTML, no script, nothing from elsewhere."""

from html import escape

from interlock_gateway.approvals.display import shown
from interlock_gateway.approvals.webhooks.links import FollowedLink
from interlock_gateway.core.checkpoint import ApproverDecision, Checkpoint

HEADERS = {
    "content-security-policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex, nofollow",
}
_REASON = '<p><label>Reason<br><textarea name="reason" rows="3" cols="60" maxlength="2000"></textarea></label></p>'
_VERBS = {ApproverDecision.APPROVE: "Approve", ApproverDecision.DENY: "Deny"}


def confirmation(followed: FollowedLink) -> str:
    """Shows the call, and asks whether the answer is meant: looking at the page decides nothing."""
    safe, verb = shown(followed.checkpoint), _VERBS[followed.link.decision]
    reasons = "\n".join(reason.message or reason.code for reason in (safe.decision.reasons if safe.decision else ()))
    preview = safe.preview.preview if safe.preview is not None else ""
    parts = [
        f"<h1>{verb} this call?</h1>",
        _facts(safe, followed.approver.id),
        _block("What would run", safe.rendered_call),
        _block("Input", safe.shown_input.decode()),
        _block("Preview", preview),
        _block("Why a person is asked", reasons),
        f'<form method="post">{_REASON}<p><button>{verb}</button></p></form>',
    ]
    return _page(f"{verb}: {safe.tool}", parts)


def answered(after: Checkpoint) -> str:
    """Says where the checkpoint stands now."""
    words = "More people have to approve." if after.state.value == "open" else f"The call is {after.state.value}."
    return _page("Answered", ["<h1>Your answer counts</h1>", f"<p>{escape(words)}</p>"])


def refusal(message: str) -> str:
    """Says why nothing was decided."""
    return _page("Not answered", ["<h1>Nothing was decided</h1>", f"<p>{escape(message)}</p>"])


def _facts(safe: Checkpoint, approver: str) -> str:
    facts = (
        ("Tool", safe.tool),
        ("Asked by", safe.requester),
        ("Session", safe.session_id),
        ("Intent, in the agent's words", safe.intent),
        ("You answer as", approver),
    )
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts if text)
    return f"<dl>{rows}</dl>"


def _block(title: str, text: str) -> str:
    return f"<h2>{escape(title)}</h2><pre>{escape(text)}</pre>" if text else ""


def _page(title: str, parts: list[str]) -> str:
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    return (
        f"<!doctype html><html lang=en><head>{head}<title>{escape(title)}</title></head><body>{''.join(parts)}</body>"
    )
