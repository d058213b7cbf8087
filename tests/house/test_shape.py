"""The shape of our files: none too long, none named after nothing, no net cast wider than it must be."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from repository import imported_modules, our_python, text_of, tree_of

MOST_LINES = 400
NAMES_THAT_SAY_NOTHING = {"base", "common", "helpers", "manager", "misc", "util", "utils"}

# Where everything is caught and not raised again, how often, and the one reason why.
CATCH_ALL = {
    "gateway/interlock_gateway/artifacts/keeping.py": (1, "who stopped sweeping would let the store fill up"),
    "gateway/interlock_gateway/audit/log.py": (1, "one record's fault must not end the log of all the others"),
    "gateway/interlock_gateway/identity/oidc/issuer.py": (1, "who stopped would believe the same keys to the end"),
    "gateway/interlock_gateway/operate/policy_watch.py": (1, "who stopped watching would load no policy ever again"),
    "gateway/interlock_gateway/pipeline/decide.py": (1, "the one place that turns failure into denial"),
    "gateway/interlock_gateway/state/session_locks.py": (
        1,
        "who waits for a session must be refused, not left waiting",
    ),
    "gateway/interlock_gateway/policy/opa/engine.py": (1, "who stopped trying would let no call ask the server again"),
    "gateway/interlock_gateway/policy/embedded/worker.py": (2, "the engine panics as a BaseException"),
    "gateway/interlock_gateway/policy/replay/crew.py": (1, "what a thread raises is for whoever started the replay"),
    "gateway/interlock_gateway/providers/directory.py": (
        1,
        "a keeper that ended would notice no changed definition",
    ),
    "gateway/interlock_gateway/providers/exchange.py": (1, "whoever reads an answer hears of it, not the connection"),
    "gateway/interlock_gateway/serving.py": (1, "who stopped keeping house would leave health as it was"),
    "gateway/interlock_gateway/state/batch.py": (1, "whatever a function raises is for its caller"),
    "gateway/interlock_gateway/state/lane_thread.py": (1, "a thread that ended would leave every caller waiting"),
    "gateway/interlock_gateway/state/listening.py": (1, "who stopped would leave the replica deaf to the others"),
    "gateway/interlock_gateway/state/presence.py": (1, "who stopped would leave the replica without a lease for ever"),
    "gateway/interlock_gateway/transport/http/admission.py": (
        1,
        "what asked for the sidecar is refused, whatever went wrong",
    ),
    "gateway/interlock_gateway/telemetry/spans.py": (1, "what is told of a call never changes what it is answered"),
    "gateway/interlock_gateway/telemetry/otlp.py": (1, "a thread that ended would send no span ever again"),
    "gateway/interlock_gateway/transport/http/answers.py": (1, "the last door: nothing unforeseen shows to a client"),
    "gateway/interlock_gateway/transport/extmcp/service.py": (1, "what fails here is refused, and not passed on"),
    "gateway/interlock_gateway/transport/grpc/hub_service.py": (1, "whatever ends the reading ends the stream"),
    "gateway/interlock_gateway/transport/mcp/exchange.py": (1, "nothing unforeseen shows to a client"),
    "gateway/interlock_gateway/transport/mcp/http.py": (2, "the last door: nothing unforeseen shows to a client"),
    "gateway/interlock_gateway/transport/mcp/listening.py": (1, "one connection that fails must not end the others"),
    "sdk/interlock/provider/_provider.py": (3, "whatever a tool raises is its result"),
    "sdk/interlock/toolbox/remote/far_end.py": (
        1,
        "whatever goes wrong over there is the answer, or nobody would have one",
    ),
}


def test_no_file_is_too_long() -> None:
    lengths = {path: text_of(path).count("\n") for path in our_python()}
    too_long = {path: length for path, length in lengths.items() if length > MOST_LINES}
    assert not too_long


def test_no_module_is_named_after_nothing() -> None:
    parts = {path: {part.strip("_") for part in PurePosixPath(path).with_suffix("").parts} for path in our_python()}
    assert not [path for path, names in parts.items() if names & NAMES_THAT_SAY_NOTHING]


def test_everything_is_caught_only_where_a_reason_is_listed() -> None:
    found = Counter(path for path in our_python("gateway/", "sdk/", "benchmarks/") for _ in catch_alls(tree_of(path)))
    assert found == {path: count for path, (count, _reason) in CATCH_ALL.items()}


def test_no_test_sleeps_but_to_wait_for_what_nobody_announces() -> None:
    paths = [path for path in our_python("tests/") if path != "tests/waiting.py"]
    sleeping = [f"{path}:{line}" for path in paths for line in sleeps(tree_of(path))]
    assert not sleeping, f"wait for an event, pass a clock in, or use waiting.eventually: {sleeping}"


def test_nothing_is_imported_from_a_conftest() -> None:
    # Each folder's conftest is a module named alike; which one an import gets depends on which tests run.
    importing = [
        path for path in our_python("tests/") if "conftest" in {n.split(".")[0] for n in imported_modules(path)}
    ]
    assert not importing


def catch_alls(tree: ast.AST) -> Iterator[ast.ExceptHandler]:
    """Give the handlers that catch every exception and do not end in raising it again."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and catches_all(node.type) and not isinstance(node.body[-1], ast.Raise):
            yield node


def catches_all(caught: ast.expr | None) -> bool:
    """Tell whether an ``except`` clause names no exception, ``Exception`` or ``BaseException``."""
    if isinstance(caught, ast.Tuple):
        return any(catches_all(one) for one in caught.elts)
    return caught is None or (isinstance(caught, ast.Name) and caught.id in {"Exception", "BaseException"})


def sleeps(tree: ast.AST) -> Iterator[int]:
    """Give the lines that sleep; giving way to other tasks (``asyncio.sleep(0)``) is not sleeping."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"sleep", "time.sleep", "asyncio.sleep"}:
            gives_way = isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
            if not gives_way:
                yield node.lineno
