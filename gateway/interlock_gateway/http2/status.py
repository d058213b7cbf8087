"""The status codes of gRPC, and the failure that carries one."""

from enum import IntEnum


class Status(IntEnum):
    """`grpc-status`, as gRPC numbers it."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class StatusError(Exception):
    """A call that did not end with OK.

    `from_peer` tells what the other side said from what this side found out by itself, and `has_details` whether it
    sent a `google.rpc.Status` along. `unsent` is true when it is certain that the other side never looked at the call.
    """

    def __init__(
        self, status: Status, message: str, *, from_peer: bool = False, has_details: bool = False, unsent: bool = False
    ) -> None:
        super().__init__(f"{status.name}: {message}")
        self.status = status
        self.message = message
        self.from_peer = from_peer
        self.has_details = has_details
        self.unsent = unsent
