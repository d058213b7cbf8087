"""What a review comes to: a patch, nothing to do, or a refusal. No pod that asks is let through without the sidecar."""

from enum import StrEnum
from typing import Any

from pydantic import ValidationError

from interlock_gateway.injection.asking import INJECTED, LABEL, Wish, agents_of, wish_of
from interlock_gateway.injection.clashes import clashes
from interlock_gateway.injection.dangers import dangers, warnings
from interlock_gateway.injection.patch import patch_for
from interlock_gateway.injection.pod import Pod, in_words
from interlock_gateway.injection.review import Request, Verdict
from interlock_gateway.injection.standing import missing, touched, without_ours
from interlock_gateway.injection.template import Template


class Outcome(StrEnum):
    """What became of a pod."""

    INJECTED = "injected"
    ALREADY = "already"
    LEFT_ALONE = "left_alone"
    NOT_ASKED = "not_asked"
    REFUSED = "refused"
    FAILED = "failed"


FAILED = Verdict(
    refusal="interlock: the injection webhook failed, and lets no pod through without the sidecar; its log has more",
    code=500,
)


def decide(request: Request, template: Template) -> tuple[Outcome, Verdict]:
    """What `request` comes to. Never raises for what is in it."""
    if not _is_new_pod(request):
        said = "interlock: this webhook looks at the creation of pods and at nothing else; nothing was changed"
        return Outcome.NOT_ASKED, Verdict(warnings=(said,))
    whole = request.object
    if whole is None:
        return _refused("the review holds no pod")
    try:
        pod = Pod.model_validate(whole)
    except ValidationError as error:
        return _refused(f"the pod cannot be read: {in_words(error)}")
    wish = wish_of(pod)
    if wish is Wish.LEAVE_ALONE:
        return Outcome.LEFT_ALONE, Verdict()
    if wish is Wish.UNCLEAR:
        return _refused(f'the label {LABEL} has to be "true" or "false"')
    return _injected(pod, whole, template)


def unclear(request: Request) -> tuple[Outcome, Verdict]:
    """What `request` comes to in a namespace that has the label with a value that means nothing.

    Its pods are refused, as they are for such a label of their own: somebody asked for something.
    """
    if not _is_new_pod(request):
        return Outcome.NOT_ASKED, Verdict()
    return _refused(
        f'the label {LABEL} of the namespace {request.namespace} has to be "true" or "false"; '
        "a pod that has the label itself goes by its own"
    )


def _injected(pod: Pod, whole: dict[str, Any], template: Template) -> tuple[Outcome, Verdict]:
    agents = agents_of(pod)
    if touched(pod, template):
        return _injected_before(pod, whole, template, agents)
    reasons = [*dangers(pod.spec, template), *clashes(pod.spec, template, agents)]
    if reasons:
        return _refused(f"the gateway would not hold the agent in this pod: {'; '.join(reasons)}")
    told = tuple(f"interlock: {one}" for one in warnings(pod.spec, template, agents))
    return Outcome.INJECTED, Verdict(patch=patch_for(whole, template, agents), warnings=told)


def _injected_before(
    pod: Pod, whole: dict[str, Any], template: Template, agents: tuple[str, ...]
) -> tuple[Outcome, Verdict]:
    lacking = list(missing(pod, whole, template, agents))
    if lacking:
        return _refused(
            f"the pod was injected before, and not as it would be now: {'; '.join(lacking)}; "
            f"take the gateway's parts and the annotation {INJECTED} out, and they are put in again"
        )
    reasons = list(dangers(without_ours(pod.spec, template), template))
    if reasons:
        return _refused(f"the gateway would not hold the agent in this pod: {'; '.join(reasons)}")
    return Outcome.ALREADY, Verdict()


def _refused(why: str) -> tuple[Outcome, Verdict]:
    return Outcome.REFUSED, Verdict(refusal=f"interlock: {why}")


def _is_new_pod(request: Request) -> bool:
    asked = (request.resource.group, request.resource.resource, request.sub_resource, request.operation)
    return asked == ("", "pods", "", "CREATE")
