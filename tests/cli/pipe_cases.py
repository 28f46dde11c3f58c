"""Readers that are behind, and descriptors that do not block."""

import fcntl
import os
import signal
import subprocess
import time

import program
from program import Case
from stop_cases import STORY, Endless


def full_pipe():
    """A pipe that takes nothing more: (to read, to write)."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, b"x" * 4096)
    return reader, writer


class BlockedReaders(Endless):
    def blocked(self, *options, both=False):
        """The program, whose standard output nobody reads."""
        reader, writer = full_pipe()
        self.addCleanup(os.close, reader)
        run = subprocess.Popen([program.PATH, "run", *self.endless, *options, STORY], stdin=subprocess.DEVNULL,
                               stdout=writer, stderr=writer if both else subprocess.DEVNULL)
        os.close(writer)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        return run

    def test_deadline(self):
        for both in (False, True):
            self.assertEqual(self.blocked("--deadline", "100ms", both=both).wait(program.PATIENCE), 3)

    def test_signals(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            run = self.blocked(both=True)
            time.sleep(1)
            self.assertIsNone(run.poll())
            run.send_signal(number)
            self.assertEqual(run.wait(program.PATIENCE), code)


class NonBlocking(Case):
    def test_output(self):
        reader, writer = full_pipe()
        os.set_blocking(writer, False)
        run = subprocess.Popen([program.PATH, "inspect", program.ROOT / "models/tiny-chat-Q8_0.gguf"], stdout=writer,
                               stderr=subprocess.PIPE)
        os.close(writer)
        time.sleep(0.3)
        with os.fdopen(reader, "rb") as file:
            said = file.read()
        self.assertEqual((run.wait(program.PATIENCE), run.stderr.read()), (0, b""))
        run.stderr.close()
        self.assertEqual(said[4096:].decode(), self.succeeds("inspect", program.ROOT / "models/tiny-chat-Q8_0.gguf"))

    def test_input(self):
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        run = program.start("run", stdin=reader)
        os.close(reader)
        time.sleep(0.3)
        os.write(writer, b"What is 17 + 25?")
        os.close(writer)
        said = run.communicate(timeout=program.PATIENCE)
        self.assertEqual((run.returncode, *said), (0, b"17 + 25 = 42.\n", b""))
