"""Plan approval with a standing handler: `python plan_provider.py unix:/run/plans.sock`.

`propose_plan` puts a plan down; from then on `resolve` approves or rejects it, whenever nothing else is pending, until
the plan is approved or another takes its place. Nothing is ever run here: an approved plan is only words.
"""

import sys
from dataclasses import dataclass, field
from typing import Any

from interlock.provider import PendingAction, Tool, ToolContext, ToolProvider, ToolResult, serve_tools, tool

TOKEN = "plan"  # noqa: S105 -- the name by which the handler comes back, no secret


@dataclass
class Plans:
    """What was planned in each session, and what became of it."""

    steps: dict[str, list[str]] = field(default_factory=dict)
    approved: set[str] = field(default_factory=set)


def plan_provider(plans: Plans) -> ToolProvider:
    """The provider, over plans that it keeps in memory."""
    return ToolProvider(plan_tools(plans), name="plans", version="1.0")


def plan_tools(plans: Plans) -> list[Tool[..., Any]]:
    """Its tool."""

    # A tool that only reads may leave nothing behind, so this one says that it changes something that can be undone.
    @tool(read_only=False, destructive=False, open_world=False, reversible=True)
    def propose_plan(steps: list[str], ctx: ToolContext) -> ToolResult:
        """Propose a plan. Then call resolve: apply asks for its approval, discard gives it up."""
        plans.steps[ctx.session_id] = steps
        plans.approved.discard(ctx.session_id)
        handler = PendingAction(label=f"the plan with {len(steps)} steps", token=TOKEN, source_tool="propose_plan")
        return ToolResult(content="The plan waits for approval.", standing_handler=handler)

    @propose_plan.apply
    def approve(reason: str, ctx: ToolContext) -> ToolResult:
        plans.approved.add(ctx.session_id)
        content = f"Approved ({reason}). Go on with step 1."
        return ToolResult(content=content, details={"approved": True}, clear_standing_handler=TOKEN)

    @propose_plan.reject
    def reject(reason: str, ctx: ToolContext) -> str:
        plans.approved.discard(ctx.session_id)
        return f"Not approved ({reason}). Propose another plan."

    return [propose_plan]


if __name__ == "__main__":
    serve_tools(plan_provider(Plans()), sys.argv[1])
