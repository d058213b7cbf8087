"""What is in the image, written down: a bill of materials (CycloneDX), and the system's packages as Debian knows them.

Every Python package is in the bill, and every Debian package of which a file is there. The latter also stand in
`var/lib/dpkg/status.d`, where scanners look in images without dpkg, with their licences beside them.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

_FIELDS = ("Package", "Version", "Architecture", "Source", "Maintainer", "Homepage")


@dataclass(frozen=True, slots=True)
class Package:
    """A Debian package: the fields of its control file that are kept, by name."""

    fields: dict[str, str]

    @property
    def name(self) -> str:
        """Its name."""
        return self.fields["Package"]

    @property
    def component(self) -> dict[str, Any]:
        """Its entry in the bill."""
        version = self.fields["Version"]
        purl = f"pkg:deb/debian/{self.name}@{quote(version, safe='')}?arch={self.fields['Architecture']}"
        return {"type": "library", "bom-ref": purl, "name": self.name, "version": version, "purl": purl}


def write_bill(tools: Path, environment: Path, project: Path, packages: list[Package], bill: Path) -> None:
    """Write the bill, and nothing in it that changes from one build to the next."""
    command = [str(tools), "-m", "cyclonedx_py", "environment", "--pyproject", str(project), "--output-reproducible"]
    # Its validator takes longer than the rest of the build; the tests hold the finished bill against the schema.
    command += ["--no-validate", "--of", "JSON", "-o", str(bill), str(environment / "bin" / "python")]
    subprocess.run(command, check=True)
    found: dict[str, Any] = json.loads(bill.read_text(encoding="utf-8"))
    found["components"] += [package.component for package in packages]
    if not any(package.name.startswith("python3") for package in packages):
        found["components"].append(python_component())
    bill.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def write_packages(root: Path, packages: list[Package]) -> None:
    """What scanners read, and each package's licence."""
    status = root / "var/lib/dpkg/status.d"
    status.mkdir(parents=True)
    for package in packages:
        lines = [f"{name}: {value}" for name, value in package.fields.items() if value]
        (status / package.name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        licence = Path("/usr/share/doc", package.name, "copyright")
        if licence.exists():
            target = root / licence.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(licence, target)


def system_packages(libraries: list[Path]) -> list[Package]:
    """The Debian packages that Python, its standard library and the libraries come from, by name; none without dpkg."""
    dpkg = shutil.which("dpkg-query")
    if dpkg is None:
        return []
    library = Path(sysconfig.get_path("stdlib"))
    files = [Path(getattr(sys, "_base_executable", sys.executable)).resolve(), *libraries, Path("/etc/os-release")]
    files += [library / "os.py", library / "asyncio" / "__init__.py", Path("/usr/share/zoneinfo/UTC")]
    # What is now below /usr is known by where its package put it.
    places = {place for file in files for place in (str(file), str(file.resolve()), str(file).removeprefix("/usr"))}
    environment = {**os.environ, "LC_ALL": "C"}
    asked = [dpkg, "-S", *sorted(places)]
    owned = subprocess.run(asked, capture_output=True, text=True, check=False, env=environment).stdout
    names = {name.strip() for line in owned.splitlines() for name in line.rpartition(": ")[0].split(",")}
    wanted = sorted({*names, "ca-certificates"} - {""})
    form = "\t".join(f"${{{name}}}" for name in _FIELDS) + "\n"
    told = subprocess.run([dpkg, "-W", "-f", form, *wanted], capture_output=True, text=True, check=True).stdout
    found = (Package(dict(zip(_FIELDS, line.split("\t"), strict=True))) for line in told.splitlines())
    return sorted(found, key=lambda package: package.name)


def python_component() -> dict[str, Any]:
    """A Python that no package of the system brought."""
    version = ".".join(map(str, sys.version_info[:3]))
    purl = f"pkg:generic/python@{version}"
    return {"type": "platform", "bom-ref": purl, "name": "python", "version": version, "purl": purl}
