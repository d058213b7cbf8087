"""The programs that run what their operands say, and the options each knows. A new one is a new line."""

from dataclasses import dataclass
from enum import Enum, auto

from interlock_gateway.facts.shell.options import Options

_NO_OPTIONS = Options()


class Tail(Enum):
    """What the operands are."""

    COMMAND = auto()
    JOINED = auto()
    """Words that are joined by spaces and read by a shell."""
    EACH = auto()
    """Words each of which is read by a shell."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a program runs another. `skip` operands come first; `stops` are options with which it runs nothing.

    `script` are options whose value a shell reads; `moves` are options that change the directory, root or machine, or
    None when the program always does; `starts_shell` are options with which it starts a shell when no operands are
    left, or None when it always does. `assigns` says that NAME=VALUE operands come first; `direct` are options that
    turn JOINED into COMMAND. `writes` are options whose value is a file that it writes.
    """

    options: Options = _NO_OPTIONS
    skip: int = 0
    tail: Tail = Tail.COMMAND
    stops: tuple[str, ...] = ()
    script: tuple[str, ...] = ()
    moves: tuple[str, ...] | None = ()
    starts_shell: tuple[str, ...] | None = ()
    direct: tuple[str, ...] = ()
    assigns: bool = False
    writes: tuple[str, ...] = ()


_PLAIN = Wrapper()
_NAMESPACE = Options(
    "acCfFhimnpTruUwZ",
    "GSltRw",
    "",
    "all mount uts ipc net pid user cgroup time fork map-root-user preserve-credentials",
    "target setuid setgid root wd propagation setgroups",
)
_SU = Options(
    "flmpP",
    "cgGsTw",
    "",
    "login preserve-environment pty fast",
    "command session-command shell group supp-group whitelist-environment",
    bare_dash=True,
    permuted=True,
)
_SUDO = Options(
    "AbBEeHiKklNnPSsVv",
    "aCcDghpRrtTUu",
    "",
    "askpass background bell edit list login non-interactive preserve-env "
    "preserve-groups remove-timestamp reset-timestamp set-home shell stdin validate "
    "version no-update",
    "auth-type chdir chroot close-from command-timeout group host login-class other-user prompt role type user",
)
_SSH = Options("46AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOopPQRSWw")
_TIME = Options("pvaqlhV", "of", "", "append portability quiet verbose", "format output")
_TIMEOUT = Options("vpf", "ks", "", "foreground preserve-status verbose", "kill-after signal")
_UV_RUN = Options(
    "qvn",
    "pw",
    "",
    "active all-extras dev frozen isolated locked no-dev no-project no-sync offline quiet",
    "directory env-file extra group index-url package project python with with-requirements",
)

WRAPPERS = {
    "builtin": _PLAIN,
    "bundle exec": _PLAIN,
    "bunx": _PLAIN,
    "busybox": Wrapper(Options(long_flags="list help"), stops=("list", "help")),
    "caffeinate": Wrapper(Options("disum", "tw")),
    "catchsegv": _PLAIN,
    "chronic": Wrapper(Options("ve")),
    "chroot": Wrapper(Options("", "ugG", "", "skip-chdir", "userspec groups"), 1, moves=None, starts_shell=None),
    "chrt": Wrapper(Options("abdfiomrRv", "TPD"), 1),
    "command": Wrapper(Options("pvV"), stops=("v", "V")),
    "coproc": Wrapper(assigns=True),
    "dbus-run-session": _PLAIN,
    "doas": Wrapper(Options("Lns", "aCu"), stops=("L", "C"), starts_shell=("s",)),
    "dumb-init": Wrapper(Options("cv", "r", "", "single-child verbose", "rewrite")),
    "eatmydata": _PLAIN,
    "entr": Wrapper(Options("acdnprxz")),
    "env": Wrapper(
        Options(
            "0iv",
            "uCSP",
            "",
            "debug ignore-environment list-signal-handling null block-signal default-signal ignore-signal",
            "chdir split-string unset",
            bare_dash=True,
        ),
        moves=("C", "chdir"),
        assigns=True,
    ),
    "eval": Wrapper(tail=Tail.JOINED),
    "exec": Wrapper(Options("cl", "a")),
    "fakeroot": Wrapper(Options("uhv", "lsib")),
    "firejail": Wrapper(Options(long_flags="quiet noprofile private")),
    "gosu": Wrapper(skip=1),
    "hyperfine": Wrapper(
        Options("i", "cmMnprsuw", "", "ignore-failure show-output", "cleanup prepare runs setup warmup"),
        tail=Tail.EACH,
        script=("c", "cleanup", "p", "prepare", "s", "setup"),
    ),
    "ionice": Wrapper(Options("t", "cnpPu", "", "ignore", "class classdata"), stops=("p", "P", "u")),
    "linux32": _PLAIN,
    "linux64": _PLAIN,
    "ltrace": Wrapper(Options("bcCfhiLrStTV", "aADeFlnopsuwx")),
    "nice": Wrapper(Options("", "n", "", "", "adjustment", digits=True)),
    "nohup": _PLAIN,
    "npm exec": Wrapper(Options("y", "cp", "", "yes", "call package"), script=("c", "call")),
    "npx": Wrapper(Options("yq", "pc", "", "yes no-install quiet", "call package"), script=("c", "call")),
    "nsenter": Wrapper(_NAMESPACE, moves=None, starts_shell=None),
    "pdm run": _PLAIN,
    "pipenv run": _PLAIN,
    "pkexec": Wrapper(Options(long_flags="disable-internal-agent keep-cwd", long_valued="user"), starts_shell=None),
    "pnpm exec": _PLAIN,
    "poetry run": _PLAIN,
    "prlimit": Wrapper(stops=("p", "pid")),
    "proxychains": Wrapper(Options("q", "f")),
    "proxychains4": Wrapper(Options("q", "f")),
    "rlwrap": Wrapper(Options("acinruA", "bCDefhHlmOpPqsStT")),
    "setpriv": Wrapper(
        Options(
            long_flags="clear-groups init-groups keep-groups nnp no-new-privs reset-env",
            long_valued="egid euid groups regid reuid rgid ruid",
        )
    ),
    "setsid": Wrapper(Options("cfw", long_flags="ctty fork wait")),
    "softlimit": Wrapper(Options("", "acdflmoprst")),
    "ssh": Wrapper(_SSH, 1, Tail.JOINED, stops=("N", "V", "Q", "O"), moves=None, starts_shell=None),
    "stdbuf": Wrapper(Options("", "eio", "", "", "error input output")),
    "strace": Wrapper(Options("CDcdfhikqrtTvVwxXyYzZ", "abeEIoOpPsSuU"), writes=("o",)),
    "su": Wrapper(
        _SU, skip=99, script=("c", "command", "session-command"), moves=("l", "login", "-"), starts_shell=None
    ),
    "su-exec": Wrapper(skip=1),
    "sudo": Wrapper(
        _SUDO,
        stops=("e", "edit", "l", "list", "V", "version"),
        moves=("D", "chdir", "R", "chroot", "i", "login", "h", "host"),
        starts_shell=("s", "shell", "i", "login"),
        assigns=True,
    ),
    "systemd-run": Wrapper(
        Options(
            "PtqdSGr",
            "pEuHM",
            "",
            "collect no-block pipe pty quiet same-dir scope user wait remain-after-exit",
            "description gid host nice property setenv slice uid unit working-directory",
        ),
        moves=None,
        starts_shell=None,
    ),
    "taskset": Wrapper(Options("acp"), 1),
    "time": Wrapper(_TIME, assigns=True, writes=("o", "output")),
    "timeout": Wrapper(_TIMEOUT, 1),
    "tini": Wrapper(Options("gsvw", "ep")),
    "torify": _PLAIN,
    "torsocks": Wrapper(Options("iqd", "uaP")),
    "toybox": _PLAIN,
    "unbuffer": Wrapper(Options("p")),
    "unshare": Wrapper(_NAMESPACE, moves=None, starts_shell=None),
    "uv run": Wrapper(_UV_RUN),
    "valgrind": Wrapper(Options("qv")),
    "watch": Wrapper(
        Options("bcdegprtwx", "nq", "d", "beep color differences errexit exec no-title", "interval"),
        tail=Tail.JOINED,
        direct=("x", "exec"),
    ),
    "xvfb-run": Wrapper(Options("al", "efnpsw", "", "auto-servernum", "server-args server-num")),
}
WRAPPERS |= {"g" + name: WRAPPERS[name] for name in ("chroot", "env", "nice", "nohup", "stdbuf", "time", "timeout")}
WRAPPERS["runuser"] = WRAPPERS["su"]
SUBCOMMANDS = frozenset(key.split()[0] for key in WRAPPERS if " " in key)
