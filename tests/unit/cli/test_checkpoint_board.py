"""What a live watch knows, and which checkpoint its keys act on."""

from interlock.v1 import approval_service_pb2 as pb
from interlock.v1 import checkpoint_pb2
from interlock_gateway.cli.checkpoint_board import Board

OPEN, DENIED = checkpoint_pb2.CHECKPOINT_STATE_OPEN, checkpoint_pb2.CHECKPOINT_STATE_DENIED


def told(checkpoint_id: str, expires_s: int, *, closed: bool = False) -> pb.WatchCheckpointsResponse:
    message = pb.WatchCheckpointsResponse(event=pb.CHECKPOINT_EVENT_CLOSED if closed else pb.CHECKPOINT_EVENT_OPENED)
    message.checkpoint.checkpoint_id = checkpoint_id
    message.checkpoint.state = DENIED if closed else OPEN
    message.checkpoint.expires_at.seconds = expires_s
    return message


def test_the_first_to_expire_stands_first_and_what_is_looked_at_stays_looked_at() -> None:
    board = Board()
    for name, expiry in (("b", 20), ("c", 30), ("a", 10)):
        board.take(told(name, expiry), 0)
    assert [one.checkpoint_id for one in board.ordered()] == ["a", "b", "c"]
    assert board.chosen == "b"
    board.move(1)
    board.move(1)
    assert board.chosen == "c"
    board.move(-5)
    assert board.chosen == "a"


def test_no_key_meets_another_call_than_the_one_on_the_screen() -> None:
    board = Board()
    board.take(told("a", 10), 0)
    board.take(told("b", 20), 0)
    board.take(told("a", 10, closed=True), 0)
    assert board.one is None
    board.move(1)
    assert board.one is not None
    assert board.one.checkpoint_id == "b"


def test_after_an_answer_from_here_the_next_is_looked_at() -> None:
    board = Board()
    board.take(told("a", 10), 0)
    board.take(told("b", 20), 0)
    board.answered(told("a", 10, closed=True).checkpoint)
    assert board.chosen == "b"
    board.answered(told("b", 20, closed=True).checkpoint)
    assert board.chosen == ""
    board.take(told("c", 30), 0)
    assert board.chosen == "c"


def test_only_the_last_few_lines_are_kept() -> None:
    board = Board()
    for number in range(20):
        board.say(str(number))
    assert board.log == ["15", "16", "17", "18", "19"]
