"""A gateway for the unit tests of agents: scripted, in this process, over real gRPC.

    def test_the_agent_gives_up_when_it_is_denied():
        with FakeGateway().on("delete", Deny("not in this directory")) as fake:
            run_agent(fake.address)
        assert fake.ran == []

What it answers is worded as the specification says, so that an agent which reads it behaves as it would for real.
"""

from interlock.testing._fake import FakeGateway
from interlock.testing._scripts import (
    Allow,
    Checkpoint,
    Deny,
    Fail,
    OutcomeUnknown,
    Preview,
    RecordedCall,
    Reflect,
    RpcFailure,
)

__all__ = [
    "Allow",
    "Checkpoint",
    "Deny",
    "Fail",
    "FakeGateway",
    "OutcomeUnknown",
    "Preview",
    "RecordedCall",
    "Reflect",
    "RpcFailure",
]
