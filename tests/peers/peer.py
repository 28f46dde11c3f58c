"""Peers from npm, installed once into build/peers: llama.cpp (node-llama-cpp with its prebuilt CPU binary) and jinja."""

import json
import os
import platform
import re
import shutil
import subprocess
import threading
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
VERSION = "3.22.1"
JINJA_VERSION = "0.5.11"
MINUTES_TO_INSTALL = 4
SECONDS_TO_ANSWER = 240
# With these codes the registry did answer, and the pinned version is wrong: a failure, not a reason to skip.
OUR_FAULT = {"E404", "ETARGET", "EINTEGRITY", "EBADPLATFORM", "EUSAGE"}
BINARIES = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}


class Absent(Exception):
    """The peer can not be had here; the text says why."""


class Broken(Exception):
    """The peer could be had here, but does not install or answer."""


def environment():
    return os.environ | {"NODE_LLAMA_CPP_SKIP_DOWNLOAD": "true", "npm_config_update_notifier": "false"}


def check_node():
    for tool in ("node", "npm"):
        if not shutil.which(tool):
            raise Absent(f"{tool} is not installed (20 or later is needed)")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, timeout=60).stdout.strip()
    if int(version.lstrip("v").split(".")[0] or 0) < 20:
        raise Absent(f"node is {version}; 20 or later is needed")


def install():
    """The folder node_modules with the peer in it. The first call needs the registry; nothing is compiled."""
    binary = BINARIES.get(platform.machine())
    if platform.system() != "Linux" or not binary:
        raise Absent(f"node-llama-cpp has no binary for {platform.system()} on {platform.machine()}")
    return install_packages(f"node-llama-cpp-{VERSION}",
                            [f"node-llama-cpp@{VERSION}", f"@node-llama-cpp/{binary}@{VERSION}"])


def install_jinja():
    """The same with Hugging Face's jinja, which is JavaScript alone."""
    return install_packages(f"jinja-{JINJA_VERSION}", [f"@huggingface/jinja@{JINJA_VERSION}"])


def install_packages(name, packages):
    check_node()
    home = ROOT / "build/peers" / name
    if not home.exists():
        fresh = home.with_name(f"{home.name}.{os.getpid()}")
        try:
            fetch(fresh, name, packages)
            if not home.exists():
                fresh.rename(home)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return home / "node_modules"


def fetch(folder, name, packages):
    # Optional dependencies are the binaries of every other platform and GPU, hundreds of megabytes.
    print(f"installing {name} from the npm registry", flush=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"private": true}\n')
    command = ["npm", "install", "--prefix", folder, "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund",
               "--fetch-retries=1", "--fetch-timeout=30000", "--loglevel=error", *packages]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=60 * MINUTES_TO_INSTALL, env=environment())
    except subprocess.TimeoutExpired:
        raise Absent(f"the npm registry did not deliver it within {MINUTES_TO_INSTALL} minutes") from None
    if done.returncode != 0:
        print(done.stdout, flush=True)
        code = re.search(r"^npm error code (\S+)", done.stdout, re.MULTILINE)
        reason = code[1] if code else f"exit code {done.returncode}"
        error = Broken if reason in OUR_FAULT else Absent
        raise error(f"npm could not install {name}: {reason}")


class Program:
    """A program that answers JSON lines with JSON lines."""

    def __init__(self, *command):
        self.process = subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment())

    def ask(self, **request):
        watch = threading.Timer(SECONDS_TO_ANSWER, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if not line:
            said = f"gave no answer within {SECONDS_TO_ANSWER} s, or ended (code {self.process.poll()})"
            raise Broken(f"{Path(self.process.args[0]).name} {said}")
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.process.stdin.close()
            self.process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Peer(Program):
    """A node script."""

    def __init__(self, script, *arguments):
        super().__init__("node", script, *arguments)
