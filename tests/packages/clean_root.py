#!/usr/bin/env python3
"""Makes a root folder with some packages of this machine and what they depend on, and nothing else.

    clean_root.py ROOT PACKAGE...

The files are those that dpkg lists for the packages, the essential ones and their dependencies (of alternatives the first that is
installed). Documentation and translations are left out. dpkg in ROOT knows these packages only, so whatever else a
package needs is missing there.
"""
import os
import pathlib
import re
import subprocess
import sys
import uuid

LEFT_OUT = re.compile(r"^/usr/share/(doc|man|info|locale|lintian)/.")
FIELDS = ("Package", "Architecture", "Status", "Essential", "Pre-Depends", "Depends", "Provides")
DPKG = pathlib.Path("/var/lib/dpkg")


def paragraphs():
    """Of each installed package: (fields, paragraph of the status file)."""
    for text in (DPKG / "status").read_text().split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*)$", text, re.MULTILINE))
        if fields.get("Status") == "install ok installed":
            yield fields, text


def names_in(field):
    """One list of alternative names for each comma."""
    for clause in filter(None, re.split(r"\s*,\s*", field)):
        yield [re.match(r"[\w.+-]+", one.strip()).group() for one in clause.split("|")]


def closure(wanted, installed, providers):
    found, left = set(), list(wanted)
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        fields = installed[name][0]
        for alternatives in names_in(", ".join(filter(None, (fields.get("Pre-Depends"), fields.get("Depends"))))):
            first = next((one for one in alternatives if one in installed or one in providers), None)
            if first:
                left.append(first if first in installed else providers[first])
    return found


def files_of(name, fields):
    for stem in (name, f"{name}:{fields['Architecture']}"):
        path = DPKG / "info" / f"{stem}.list"
        if path.exists():
            own = sorted((DPKG / "info").glob(f"{stem}.*"))
            return path.read_text().splitlines() + [str(one) for one in own]
    sys.exit(f"clean_root.py: dpkg has no list of the files of {name}")


def copy_alternatives(root):
    """The links of update-alternatives, of which dpkg does not know, as far as their ends are there."""
    for folder in ("/usr/bin", "/usr/sbin"):
        for link in pathlib.Path(folder).iterdir():
            if not link.is_symlink() or not os.readlink(link).startswith("/etc/alternatives/"):
                continue
            through = pathlib.Path(os.readlink(link))
            if not through.is_symlink() or not os.path.lexists(f"{root}{os.readlink(through)}"):
                continue
            for one in (through, link):
                copy = pathlib.Path(f"{root}{one}")
                copy.parent.mkdir(parents=True, exist_ok=True)
                if not os.path.lexists(copy):
                    copy.symlink_to(os.readlink(one))


def main():
    root, wanted = sys.argv[1], sys.argv[2:]
    installed = {fields["Package"]: (fields, text) for fields, text in paragraphs()}
    providers = {one[0]: name for name, (fields, _) in installed.items() for one in names_in(fields.get("Provides", ""))}
    missing = [name for name in wanted if name not in installed and name not in providers]
    if missing:
        sys.exit(f"clean_root.py: not installed on this machine: {' '.join(missing)}")
    essential = [name for name, (fields, _) in installed.items() if fields.get("Essential") == "yes"]
    real = [name if name in installed else providers[name] for name in wanted]
    chosen = sorted(closure(essential + real, installed, providers))
    os.makedirs(f"{root}/usr")
    for folder in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if os.path.islink(f"/{folder}"):
            os.makedirs(f"{root}/{os.readlink(f'/{folder}')}")
            os.symlink(os.readlink(f"/{folder}"), f"{root}/{folder}")
    paths = []
    for name in chosen:
        paths += [path for path in files_of(name, installed[name][0]) if not LEFT_OUT.match(path)]
    paths = sorted({path for path in paths if path != "/." and os.path.lexists(path) and not os.path.islink(path.rstrip("/"))}) + \
        sorted({path for path in paths if os.path.islink(path) and path.count("/") > 1})
    listed = "\0".join(path.lstrip("/") for path in paths)
    reader = subprocess.Popen(["tar", "-C", "/", "--null", "--no-recursion", "-T", "-", "-cf", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    writer = subprocess.Popen(["tar", "-C", root, "-xpf", "-", "--keep-directory-symlink"], stdin=reader.stdout)
    reader.stdout.close()
    reader.stdin.write(listed.encode())
    reader.stdin.close()
    if reader.wait() or writer.wait():
        sys.exit("clean_root.py: the files cannot be copied")
    copy_alternatives(root)
    dpkg = pathlib.Path(f"{root}{DPKG}")
    for folder in ("info", "updates", "alternatives", "triggers", "parts"):
        (dpkg / folder).mkdir(parents=True, exist_ok=True)
    (dpkg / "status").write_text("\n\n".join(installed[name][1].strip("\n") for name in chosen) + "\n")
    (dpkg / "info" / "format").write_text("1\n")
    for name in ("available", "diversions", "statoverride"):
        (dpkg / name).touch()
    for name in ("passwd", "group"):
        text = pathlib.Path(f"/usr/share/base-passwd/{name}.master").read_text()
        pathlib.Path(f"{root}/etc/{name}").write_text(text.replace(":*:", ":x:"))
    for folder, mode in (("proc", 0o755), ("sys", 0o755), ("dev", 0o755), ("run", 0o755), ("tmp", 0o1777), ("root", 0o700)):
        os.makedirs(f"{root}/{folder}", exist_ok=True)
        os.chmod(f"{root}/{folder}", mode)
    # With an id it is not a first boot, at which systemd would enable services of the packages.
    pathlib.Path(f"{root}/etc/machine-id").write_text(f"{uuid.uuid4().hex}\n")
    subprocess.run(["ldconfig", "-r", root], check=True)
    subprocess.run(["systemd-sysusers", f"--root={root}"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(f"a root of {len(chosen)} packages: {' '.join(chosen)}")


if __name__ == "__main__":
    main()
