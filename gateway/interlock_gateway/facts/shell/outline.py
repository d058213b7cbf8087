"""A command's words sorted into options, operands and subcommand, so that a policy need not look inside them."""

from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.facts.shell.reading import Word

_VALUED = {
    "git": {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source"},
    "docker": {"-H", "--host", "-c", "--context", "--config", "-l", "--log-level"},
    "kubectl": {"-n", "--namespace", "--context", "--kubeconfig", "--cluster", "-s", "--server", "--user", "--token"},
    "helm": {"-n", "--namespace", "--kube-context", "--kubeconfig"},
    "npm": {"--prefix", "-C", "--registry", "-w", "--workspace", "--userconfig", "--cache"},
    "pnpm": {"-C", "--dir", "-F", "--filter"},
    "yarn": {"--cwd"},
    "pip": {"--python", "--log", "--proxy", "--cache-dir", "--cert"},
    "uv": {"--project", "--directory", "--config-file", "--cache-dir", "--color", "-p", "--python"},
    "poetry": {"-C", "--directory", "-P", "--project"},
    "cargo": {"--config", "-Z", "-C", "--color"},
    "go": {"-C"},
    "apt": {"-o", "-c", "-t", "--option", "--config-file", "--target-release"},
    "yum": {"-c", "--config", "--installroot", "--releasever", "--setopt", "--enablerepo", "--disablerepo"},
    "systemctl": {"-H", "--host", "-M", "--machine", "-t", "--type", "--root", "-p", "--property"},
    "terraform": set(),
    "aws": {"--profile", "--region", "--endpoint-url", "--output", "--query"},
    "gcloud": {"--project", "--account", "--configuration", "--format"},
    "az": {"--subscription"},
    "gh": {"-R", "--repo"},
    "brew": set(),
    "gem": {"--config-file"},
    "bundle": {"--gemfile"},
    "conda": {"-n", "--name", "-p", "--prefix"},
    "svn": {"--username", "--password", "--config-dir"},
    "hg": {"-R", "--repository", "--cwd", "--config"},
}
_VALUED |= {
    "podman": _VALUED["docker"],
    "nerdctl": _VALUED["docker"],
    "pip3": _VALUED["pip"],
    "mamba": _VALUED["conda"],
}
_VALUED |= {"apt-get": _VALUED["apt"], "aptitude": _VALUED["apt"], "dnf": _VALUED["yum"], "tofu": _VALUED["terraform"]}


def flags(words: list[Word]) -> list[JsonValue]:
    """Every option before `--`: `-rf` as itself, `-r` and `-f`; `--name=value` as `--name`. Sorted."""
    seen: set[str] = set()
    for word in words[1:]:
        text = word.literal
        if text == "--":
            break
        if text is None or not text.startswith("-") or text == "-":
            continue
        option = text.partition("=")[0]
        seen.add(option)
        if not option.startswith("--"):
            seen.update(f"-{letter}" for letter in option[1:])
    return [*sorted(seen)]


def operands(words: list[Word]) -> list[JsonValue]:
    """Every word that is no option, in order; null where it is only known at run time."""
    found: list[JsonValue] = []
    only_operands = False
    for word in words[1:]:
        if only_operands or word.text == "-" or not word.text.startswith("-"):
            found.append(word.literal)
        elif word.text == "--":
            only_operands = True
    return found


def subcommand(name: str | None, words: list[Word]) -> str | None:
    """The `push` of `git -C dir push`, for programs known to have subcommands; null for others or when not literal."""
    valued = _VALUED.get(name or "")
    if valued is None:
        return None
    index = 1
    while index < len(words) and words[index].text.startswith("-"):
        index += 2 if words[index].text in valued else 1
    return words[index].literal if index < len(words) else None
