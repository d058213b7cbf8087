"""Finding and making plug-ins (PIPE-13): two kinds, two groups, and a sentence for whatever is wrong."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from interlock.extensions import Call, Continue, Event, Hook, Interceptor, Outcome
from interlock_gateway.config import PluginConfig
from interlock_gateway.errors import ConfigError
from interlock_gateway.extensions.plugins import HOOKS, INTERCEPTORS, hook, interceptor


class Fine(Interceptor):
    """Lets everything go on."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings

    async def before_call(self, call: Call) -> Outcome:
        del call
        return Continue()


class Watching(Hook):
    """Watches."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.needed = settings["needed"]

    async def on_event(self, event: Event) -> None:
        del event


def offer(directory: Path, group: str, name: str, value: str, project: str = "some-plugin") -> None:
    info = directory / f"{project.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of the path, with a module of plug-ins."""
    module = ModuleType("plugs")
    module.__dict__.update(Fine=Fine, Watching=Watching, number=7)
    monkeypatch.setitem(sys.modules, "plugs", module)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.req("PIPE-13")
def test_a_plug_in_is_made_with_its_settings_which_it_cannot_change(site: Path) -> None:
    offer(site, INTERCEPTORS, "fine", "plugs:Fine")
    made = interceptor(PluginConfig(name="fine", settings={"a": [1]}))
    assert isinstance(made, Fine)
    assert made.settings == {"a": [1]}
    with pytest.raises(TypeError):
        made.settings["a"] = 2  # type: ignore[index]  # that is what is tried


@pytest.mark.req("PIPE-13")
def test_each_kind_is_looked_for_in_its_own_group(site: Path) -> None:
    offer(site, HOOKS, "watching", "plugs:Watching")
    with pytest.raises(ConfigError, match=r"watching is not installed: interlock\.interceptors has none"):
        interceptor(PluginConfig(name="watching"))
    with pytest.raises(ConfigError, match=r"wathcing is not installed: interlock\.hooks has watching"):
        hook(PluginConfig(name="wathcing"))


@pytest.mark.req("PIPE-13")
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("no_such_module:x", r"\(no_such_module:x\) cannot be loaded: ModuleNotFoundError"),
        ("plugs:missing", "cannot be loaded: AttributeError"),
        ("plugs:number", r"\(plugs:number\) is not callable"),
        ("plugs:Watching", "does not take its settings: KeyError: 'needed'"),
        ("plugs:Fine", "gives a Fine, which is no Hook"),
        ("builtins:dict", "gives a dict, which is no Hook"),
    ],
)
def test_a_plug_in_that_cannot_be_used_is_named_with_what_is_wrong(site: Path, value: str, words: str) -> None:
    offer(site, HOOKS, "odd", value)
    with pytest.raises(ConfigError, match=f"^the plug-in odd .*{words}|^the plug-in odd {words}"):
        hook(PluginConfig(name="odd"))


@pytest.mark.req("PIPE-13")
def test_a_name_that_two_packages_offer_is_refused_naming_both(site: Path) -> None:
    offer(site, HOOKS, "watching", "plugs:Watching", "one")
    offer(site, HOOKS, "watching", "plugs:Fine", "other")
    with pytest.raises(ConfigError, match="more than once: plugs:Fine of other and plugs:Watching of one"):
        hook(PluginConfig(name="watching", settings={"needed": 1}))


@pytest.mark.req("PIPE-13")
def test_what_is_not_named_is_not_even_imported(site: Path) -> None:
    (site / "never_imported.py").write_text("raise AssertionError('it was imported')\n")
    offer(site, HOOKS, "never", "never_imported:x", "one")
    offer(site, HOOKS, "watching", "plugs:Watching", "other")
    hook(PluginConfig(name="watching", settings={"needed": 1}))
    assert "never_imported" not in sys.modules
