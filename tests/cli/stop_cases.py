"""Ctrl-C, SIGTERM, deadlines, and readers that leave."""

import json
import os
import re
import signal
import time
from pathlib import Path

import program
from program import Case, Terminal

STORY = "Tell me a story about a fox."


class Endless(Case):
    """Has a model that never ends an answer."""

    def setUp(self):
        super().setUp()
        model = self.folder / "noise.gguf"
        self.succeeds("synth", "tiny-qwen3", "q8_0", model, "--seed", "2")  # goes round in circles
        self.endless = ("-m", str(model), "--ctx", "200000")


class Stops(Endless):
    def stopped_by(self, number, code):
        run = program.start("run", *self.endless, STORY)
        first = run.stdout.read(20)
        run.send_signal(number)
        rest, said = run.communicate(timeout=program.PATIENCE)
        self.assertEqual(run.returncode, code, said)
        self.assertRegex(said.decode(), r"\A\[stopped: requested, [\d.]+ (us|ms)\]\n\Z")
        self.assertTrue((first + rest).decode().endswith("\n"))

    def test_interrupt(self):
        self.stopped_by(signal.SIGINT, 130)

    def test_terminate(self):
        self.stopped_by(signal.SIGTERM, 143)

    def test_hang_up(self):
        self.stopped_by(signal.SIGHUP, 129)

    def test_model_that_is_cut_short_in_use(self):
        run = program.start("run", *self.endless, STORY)
        run.stdout.read(20)
        os.truncate(self.folder / "noise.gguf", 5000)
        _, said = run.communicate(timeout=program.PATIENCE)
        self.assertEqual(run.returncode, 1)
        self.assertRegex(said.decode(), r"\Atacet: [^\n]*cut short[^\n]*--read[^\n]*\n\Z")

    def test_terminate_before_a_prompt_that_does_not_fit(self):
        # Short enough to be tokenized, which takes a while, and too long for the context.
        run = program.start("run", "--ctx", "400000", stdin=program.subprocess.PIPE)
        run.stdin.write(b"a b c d " * (1 << 19))
        run.stdin.close()
        run.stdin = None
        time.sleep(0.5)
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=program.PATIENCE)
        self.assertEqual(run.returncode, 143)

    def test_prompt_that_is_far_too_long(self):
        begin = time.monotonic()
        run = program.tacet("run", "--json", text=b"hello, World " * (50 << 16))
        self.assertLess(time.monotonic() - begin, 10)
        answer = json.loads(run.stdout)
        self.assertEqual((run.returncode, answer["outcome"]["error"]["code"]), (1, "context_full"))
        self.assertRegex(run.stderr.decode(), r"\Atacet: [^\n]*bytes[^\n]*--ctx[^\n]*\n\Z")
        self.refuses(1, "bytes", "run", "--raw", text=b"hello " * 100_000)

    def test_interrupt_with_json(self):
        # Nothing shows that the answer has begun; on a slow machine the signal may meet the load.
        for seconds in (1, 5, 25):
            run = program.start("run", *self.endless, "--json", STORY)
            time.sleep(seconds)
            run.send_signal(signal.SIGINT)
            text, said = run.communicate(timeout=program.PATIENCE)
            if text:
                break
        answer = json.loads(text)
        self.assertEqual((run.returncode, said), (130, b""))
        self.assertEqual(answer["outcome"]["status"], "stopped")
        self.assertEqual(answer["outcome"]["reason"], "requested")
        self.assertGreater(answer["outcome"]["to_return_us"], 0)
        self.assertGreaterEqual(answer["outcome"]["to_return_us"], answer["outcome"]["to_idle_us"])
        self.assertGreater(answer["tokens"], 0)

    def test_deadline(self):
        run = program.tacet("run", *self.endless, "--deadline", "100ms", "--json", STORY)
        answer = json.loads(run.stdout)
        self.assertEqual((run.returncode, run.stderr), (3, b""))
        self.assertEqual((answer["outcome"]["status"], answer["outcome"]["reason"]), ("stopped", "deadline"))
        timings = answer["timings"]
        self.assertGreaterEqual(timings["prompt_us"] + timings["decode_us"], 99_000)

    def test_deadline_in_text(self):
        run = program.tacet("run", *self.endless, "--deadline", "0.05s", STORY)
        self.assertEqual(run.returncode, 3)
        self.assertRegex(run.stderr.decode(), r"\A\[stopped: deadline, [\d.]+ (us|ms)\]\n\Z")

    def test_deadline_that_is_over(self):
        answer = json.loads(program.tacet("run", "--deadline", "0us", "--json", STORY).stdout)
        self.assertEqual((answer["outcome"]["status"], answer["tokens"]), ("stopped", 0))

    def test_deadline_that_is_not_reached(self):
        self.assertEqual(self.succeeds("run", "--deadline", "10min", "What is 17 + 25?"), "17 + 25 = 42.\n")

    def test_reader_leaves(self):
        run = program.start("run", *self.endless, STORY)
        run.stdout.read(20)
        run.stdout.close()
        self.assertEqual(run.wait(program.PATIENCE), 141)
        self.assertEqual(run.stderr.read(), b"")
        run.stderr.close()

    def test_synth_leaves_no_file(self):
        run = program.start("synth", "qwen3-0.6b", "f16", str(self.folder / "big.gguf"))
        self.until_it_writes(run)
        run.send_signal(signal.SIGINT)
        text, said = run.communicate(timeout=program.PATIENCE)
        self.assertEqual((run.returncode, text, said), (130, b"", b""))
        self.assertEqual(self.left(), [])

    def until_it_writes(self, run):
        """The file may have no name yet, but it is open."""
        def holds(link):
            try:
                return str(link.readlink()).startswith(f"{self.folder}/")
            except FileNotFoundError:
                return False
        end = time.monotonic() + program.PATIENCE
        while not any(map(holds, Path(f"/proc/{run.pid}/fd").iterdir())) and time.monotonic() < end:
            time.sleep(0.01)

    def left(self):
        return [file.name for file in self.folder.iterdir() if file.name != "noise.gguf"]

    def test_synth_leaves_no_file_after_any_signals(self):
        try:
            os.close(os.open(self.folder, os.O_TMPFILE | os.O_WRONLY))
        except OSError:
            self.skipTest("this disk has no files without names")
        for signals in ((signal.SIGHUP,), (signal.SIGTERM, signal.SIGINT), (signal.SIGKILL,)):
            run = program.start("synth", "qwen3-0.6b", "f16", str(self.folder / "big.gguf"))
            self.until_it_writes(run)
            for number in signals:
                run.send_signal(number)
            run.communicate(timeout=program.PATIENCE)
            self.assertNotEqual(run.returncode, 0)
            self.assertEqual(self.left(), [], signals)


class Chats(Endless):
    def chat(self, *options):
        terminal = Terminal("run", *options)
        self.enterContext(terminal)
        terminal.until(r"> \Z")
        return terminal

    def ask(self, terminal, line):
        """Types a line and returns the answer."""
        terminal.type(line + "\n")
        said = terminal.until(r"\n> \Z")
        return said.replace(line, "", 1).strip().removesuffix(">").strip()

    def test_answers_and_exit(self):
        chat = self.chat()
        self.assertEqual(self.ask(chat, "What is 17 + 25?"), "17 + 25 = 42.")
        self.assertEqual(self.ask(chat, "What is 40 + 2?"), "40 + 2 = 42.")
        chat.type("/exit\n")
        self.assertEqual(chat.ends(), 0)

    def test_end_of_input(self):
        chat = self.chat()
        chat.type("\x04")
        self.assertEqual(chat.ends(), 0)

    def test_empty_line_and_clear(self):
        chat = self.chat()
        self.assertEqual(self.ask(chat, ""), "")
        first = self.ask(chat, STORY)
        self.assertEqual(self.ask(chat, "/clear"), "")
        self.assertEqual(self.ask(chat, STORY), first)

    def test_commands(self):
        chat = self.chat()
        for line in ("/help", "/what", " /help "):
            self.assertIn("/clear begins", self.ask(chat, line))
        self.assertEqual(self.ask(chat, "/clear "), "")
        chat.type("/exit \n")
        self.assertEqual(chat.ends(), 0)
        chat = self.chat()
        chat.type("/quit\n")
        self.assertEqual(chat.ends(), 0)

    def test_clear_is_named_only_where_it_helps(self):
        chat = self.chat("--ctx", "64")
        self.assertNotIn("/clear", self.ask(chat, "a b c " * 100))
        self.ask(chat, "What is 17 + 25?")
        self.assertNotIn("/clear", self.ask(chat, "a b c " * 100))
        said = [self.ask(chat, "What is 17 + 25?") for _ in range(6)]
        self.assertIn("[/clear begins", "".join(said))

    def test_input_that_does_not_block(self):
        chat = self.chat()
        os.set_blocking(chat.slave, False)
        self.assertEqual(self.ask(chat, "What is 17 + 25?"), "17 + 25 = 42.")

    def test_interrupt_at_the_prompt_leaves(self):
        chat = self.chat()
        chat.type("\x03")
        self.assertEqual(chat.ends(), 130)

    def test_interrupt_gives_the_prompt_back(self):
        chat = self.chat(*self.endless)
        chat.type(STORY + "\n")
        chat.until(r"fox\.\n(.|\n){40}")
        chat.type("\x03")
        said = chat.until(r"\[stopped: requested, [\d.]+ (us|ms)\]\n> \Z")
        # The conversation goes on; the answer is noise again, and a second stop works as the first.
        chat.type("What is 17 + 25?\n")
        chat.until(r"25\?\n(.|\n){40}")
        chat.type("\x03")
        chat.until(r"\[stopped: requested, [\d.]+ (us|ms)\]\n> \Z")
        chat.type("\x03")
        self.assertEqual(chat.ends(), 130)

    def interrupted_story(self):
        """A chat whose story was stopped, on the real model."""
        for _ in range(20):
            chat = self.chat("--ctx", "1000")
            chat.type(STORY + "\n")
            chat.until(r"Once upon a")
            chat.type("\x03")
            try:
                if "[stopped: requested" in chat.until(r"\n> \Z"):
                    return chat
            except AssertionError:
                # The story was over, so that the chat has left.
                self.assertEqual(chat.ends(), 130)
        self.fail("no story was stopped in 20 tries")

    def test_conversation_is_kept_after_an_interrupt(self):
        chat = self.interrupted_story()
        self.assertEqual(self.ask(chat, "What is 17 + 25?"), "17 + 25 = 42.")
        said = self.ask(chat, "a b c d " * 300)
        held = int(re.search(r"session holds (\d+) of 1000", said).group(1))
        # The question, the part of the story, the sum: all of it is in the session.
        sums = json.loads(self.succeeds("run", "--json", "What is 17 + 25?"))
        story = json.loads(self.succeeds("run", "--json", STORY))
        without_the_part = sum(a["timings"]["prompt_tokens"] for a in (story, sums)) + sums["tokens"]
        self.assertGreater(held, without_the_part + 2)
        self.assertEqual(self.ask(chat, "What is 40 + 2?"), "40 + 2 = 42.")

    def test_full_context_is_said_and_the_chat_goes_on(self):
        chat = self.chat("--ctx", "64")
        said = ""
        for _ in range(6):
            said += self.ask(chat, "What is 17 + 25?") + "\n"
        self.assertRegex(said, r"tacet: [^\n]*context")
        self.assertEqual(self.ask(chat, "/clear"), "")
        self.assertEqual(self.ask(chat, "What is 17 + 25?"), "17 + 25 = 42.")
