"""What a model reads of a call that waits for a person: that nothing ran, and what to do next (CHK-4)."""

from interlock_gateway.core.checkpoint import Checkpoint
from interlock_gateway.pipeline.dispatch import AWAITING

_NEXT = (
    "To go on, make this very call again with exactly the same arguments: it is the same call, nobody is asked twice, "
    "and you get its outcome once a person has decided. Do not change it and do not look for another way to do it."
)


def words_for(checkpoint: Checkpoint, now: float, note: str = "") -> str:
    """The text. `note` is what else there is to say."""
    left_s = max(0, round(checkpoint.expires_at - now))
    reasons = [reason.message for reason in checkpoint.decision.reasons] if checkpoint.decision is not None else []
    lines = (AWAITING, *reasons, note, f"Checkpoint {checkpoint.checkpoint_id}, decided within {left_s} s.", _NEXT)
    return "\n".join(line for line in lines if line)
