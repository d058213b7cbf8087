"""``python tools/chart/write_documents.py``: write the chart's README and schema anew; ``--check`` only compares."""

import json
import sys

from values_document import CHART, document
from values_schema import values_schema


def written() -> dict[str, str]:
    """What belongs in which file of the chart."""
    schema = json.dumps(values_schema(), indent=1, ensure_ascii=False)
    return {"README.md": document(), "values.schema.json": f"{schema}\n"}


def main(arguments: list[str]) -> int:
    """Write or compare; 1 when ``--check`` finds a difference."""
    stale = [name for name, text in written().items() if not _is(name, text)]
    if "--check" in arguments:
        for name in stale:
            print(f"helm/interlock/{name} is stale: `make chart` writes it anew")
        return 1 if stale else 0
    for name in stale:
        (CHART / name).write_text(written()[name], encoding="utf-8")
    return 0


def _is(name: str, text: str) -> bool:
    path = CHART / name
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
