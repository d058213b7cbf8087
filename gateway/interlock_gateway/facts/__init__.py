"""Facts about a call, so that no policy parses strings (PIPE-5): what a script runs, where a path leads."""

from interlock_gateway.facts.places import workdir_inside
from interlock_gateway.facts.registry import FACTS_SCHEMA, extract
from interlock_gateway.facts.request import FactRequest

__all__ = ["FACTS_SCHEMA", "FactRequest", "extract", "workdir_inside"]
