"""From a file and the environment to a `Config`, or to every problem with them, in plain sentences (contract.md)."""

from interlock_gateway.config_loader.load import load_config
from interlock_gateway.config_loader.problems import InvalidConfigError, Problem

__all__ = ["InvalidConfigError", "Problem", "load_config"]
