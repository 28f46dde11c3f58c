"""Runs the program under test."""

import os
import pty
import re
import select
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PATH = ROOT / "build/release/tacet"
# Long, because sanitizers and a busy machine are slow; a case that needs this long fails.
PATIENCE = 100


def start(*arguments, **options):
    return subprocess.Popen([PATH, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def tacet(*arguments, text=b"", **options):
    """Runs to the end; `text` is its standard input."""
    return subprocess.run([PATH, *arguments], input=text, capture_output=True, timeout=PATIENCE, **options)


class Case(unittest.TestCase):
    """A case with a folder of its own, and checks of what the program said."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def succeeds(self, *arguments, **options):
        run = tacet(*arguments, **options)
        self.assertEqual((run.returncode, run.stderr.decode()), (0, ""), arguments)
        return run.stdout.decode()

    def refuses(self, code, words, *arguments, **options):
        """Exit code `code`, nothing on standard output, one line on standard error that matches `words`."""
        run = tacet(*arguments, **options)
        said = run.stderr.decode()
        what = str(arguments)[:200]
        self.assertEqual(run.returncode, code, (what, said))
        self.assertEqual(run.stdout, b"", what)
        self.assertRegex(said, r"\Atacet: [^\n]+\.\n\Z", what)
        self.assertRegex(said, words, what)
        return said


class Terminal:
    """The program on a terminal of its own."""

    def __init__(self, *arguments):
        master, slave = pty.openpty()
        self.master, self.seen = master, ""
        # A session of its own, so that the terminal's ^C reaches the program.
        self.process = subprocess.Popen([PATH, *arguments], stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True, preexec_fn=lambda: take_terminal(slave))
        self.slave = slave

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def type(self, keys):
        os.write(self.master, keys.encode())

    def read(self, seconds):
        """More of what the program shows; "" if there is nothing in that time or it has ended."""
        if not select.select([self.master], [], [], seconds)[0]:
            return ""
        try:
            return os.read(self.master, 65536).decode(errors="replace").replace("\r\n", "\n")
        except OSError:
            return ""

    def until(self, pattern):
        """Reads until `pattern` shows; returns the text up to its end and forgets it."""
        end = time.monotonic() + PATIENCE
        while not (match := re.search(pattern, self.seen)):
            if time.monotonic() > end:
                raise AssertionError(f"{pattern!r} did not show in {self.seen!r}")
            more = self.read(1)
            if not more and self.process.poll() is not None:
                raise AssertionError(f"it ended with {self.process.returncode}, showing {self.seen!r}")
            self.seen += more
        text, self.seen = self.seen[:match.end()], self.seen[match.end():]
        return text

    def ends(self):
        """Waits for the end; returns the exit code."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            self.seen += self.read(0.1)
        return self.process.poll()


def take_terminal(slave):
    import fcntl
    import termios
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    # As a shell would leave it, whatever started these tests ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
