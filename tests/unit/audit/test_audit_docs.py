import re
from pathlib import Path
from typing import Any

import pytest
from audit_logs import open_chain
from interlock_gateway.audit.keys import SigningKey
from interlock_gateway.audit.segments import list_segments
from interlock_gateway.core.tool import AUDIT_OPERATION_BY_WORD

DOCUMENT = Path(__file__).parents[3] / "docs" / "audit.md"


@pytest.mark.req("AUD-1", "AUD-2")
def test_the_verifier_printed_in_the_documentation_works(directory: Path, key: SigningKey) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    scope: dict[str, Any] = {}
    exec(code, scope)
    chain = open_chain(directory, key, segment_bytes=1000)
    for n in range(5):
        chain.append([b'"kind":"receipt","n":%d' % n])
        chain.mark()
    chain.close()
    segments = list_segments(directory)
    assert len(segments) > 1
    lines = sum(len(segment.path.read_bytes().splitlines()) for segment in segments)
    assert scope["verify"](directory, key.public.pem()) == lines
    last = segments[-1].path
    last.write_bytes(last.read_bytes().replace(b'"kind":"closed"', b'"kind":"opened"'))
    with pytest.raises(AssertionError):
        scope["verify"](directory, key.public.pem())


@pytest.mark.req("TOOL-6")
def test_the_documented_words_are_those_that_operations_are_derived_from() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|$", DOCUMENT.read_text(), re.MULTILINE)
    documented = {word: operation for operation, words in rows for word in re.findall(r"\w+", words)}
    assert documented == AUDIT_OPERATION_BY_WORD
