"""Mistakes: exit codes, and one sentence that says what to do."""

import os

import program
from program import Case

MODEL = program.ROOT / "models/tiny-chat-Q8_0.gguf"


class Errors(Case):
    def test_no_command(self):
        self.refuses(2, "tacet --help")

    def test_unknown_command(self):
        self.refuses(2, "no command 'walk'", "walk")
        self.refuses(2, "--help", "bench", "walk")

    def test_unknown_option(self):
        for command in ("run", "inspect", "plan", "devices", "synth", "bench", "demo"):
            self.refuses(2, f"tacet {command} --help", command, "--no-such-option")

    def test_bad_values(self):
        values = {
            "-n": ("-1", "1.5", "x", "", "99999999999", "nan"),
            "--temp": ("-1", "nan", "inf", "x", ""),
            "--top-k": ("-1", "1.5", "x", "99999999999"),
            "--top-p": ("-0.1", "1.1", "nan", "x"),
            "--min-p": ("-0.1", "1.1", "nan", "x"),
            "--repeat-penalty": ("0", "-1", "nan", "inf", "x"),
            "--seed": ("-1", "x", "1.5", "99999999999999999999999"),
            "--threads": ("0", "-1", "x", "1.5", "100000", "nan"),
            "--ctx": ("0", "-1", "x", "1.5", "99999999999"),
            "--kv": ("q4_0", ""),
            "--deadline": ("5", "ms", "-5ms", "5 ms", "5h", "nanms", "infs", "0x5ms", "", "1e300s", "5msx"),
        }
        for option, bad in values.items():
            for value in bad:
                said = self.refuses(2, "tacet run --help", "run", f"{option}={value}" if value.startswith("-") else option,
                                    *([] if value.startswith("-") else [value]), "Hello")
                self.assertIn(option.lstrip("-") if option != "-n" else "max-tokens", said)

    def test_missing_value(self):
        self.refuses(2, "--temp", "run", "Hello", "--temp")

    def test_bad_values_of_other_commands(self):
        self.refuses(2, "rows", "plan", "--rows", "0")
        self.refuses(2, "stops", "bench", "stop", "--stops", "0")
        self.refuses(2, "repeat", "bench", "--repeat", "0")
        self.refuses(2, "via", "bench", "stop", "--via", "smoke")
        self.refuses(1, "type|q9", "synth", "qwen2-0.5b", "q9", self.folder / "out.gguf")
        self.refuses(1, "qwen2-0.5b", "synth", "qwen9", "q8_0", self.folder / "out.gguf")
        self.refuses(2, "OUT", "synth", "qwen2-0.5b", "q8_0")
        self.refuses(2, "FILE", "inspect")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_more_rows_than_the_context(self):
        self.refuses(1, "rows", "plan", "--rows", "1000000")

    def test_empty_prompt(self):
        self.refuses(2, "empty", "run", "")
        self.refuses(2, "empty", "run", text=b"")
        self.refuses(2, "empty", "run", text=b"\n")
        self.refuses(2, "empty", "run", "--raw", "")

    def test_prompt_that_is_not_utf8(self):
        self.refuses(2, "UTF-8 from byte 3", "run", b"ab \xff cd")
        self.refuses(2, "UTF-8", "run", text=b"\xc3")
        self.refuses(2, "UTF-8", "run", "--system", b"\xc3(", "Hello")

    def test_options_that_contradict(self):
        self.refuses(2, "--system", "run", "--raw", "--system", "Be brief.", "Hello")
        self.refuses(2, "--stop", "run", "--stop", "", "Hello")

    def test_missing_file(self):
        for command in (["run", "Hello", "-m"], ["inspect"], ["plan", "-m"], ["bench", "-m"], ["bench", "stop", "-m"]):
            self.refuses(1, "missing.gguf", *command, self.folder / "missing.gguf")

    def test_file_that_is_no_model(self):
        text = self.folder / "text.gguf"
        text.write_text("Once upon a time.")
        empty = self.folder / "empty.gguf"
        empty.touch()
        short = self.folder / "short.gguf"
        short.write_bytes(MODEL.read_bytes()[:100_000])
        for file in (text, empty, short, self.folder):
            self.refuses(1, file.name, "run", "-m", file, "Hello")
            self.refuses(1, file.name, "inspect", file)

    def test_prompt_that_does_not_fit(self):
        self.refuses(1, "context", "run", "hello " * 3000)
        self.refuses(1, "context", "run", "--ctx", "8", "Tell me a story about a fox.")

    def test_context_that_fills_up(self):
        run = program.tacet("run", "--ctx", "40", "Tell me a story about a fox.")
        self.assertEqual(run.returncode, 1)
        self.assertTrue(run.stdout.startswith(b"Once upon a time"), run.stdout)
        self.assertRegex(run.stderr.decode(), r"\Atacet: [^\n]*context[^\n]*\n\Z")

    def test_output_that_is_full(self):
        with open("/dev/full", "wb") as full:
            run = program.subprocess.run([program.PATH, "run", "Hello"], stdout=full, stderr=program.subprocess.PIPE)
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr.decode(), r"\Atacet: Standard output [^\n]*\n\Z")

    def test_output_file_that_can_not_be(self):
        self.refuses(1, "nowhere", "synth", "qwen2-0.5b", "q8_0", self.folder / "nowhere/out.gguf")

    def test_closed_standard_input(self):
        run = program.start("run", stdin=program.subprocess.PIPE, preexec_fn=lambda: os.close(0))
        _, said = run.communicate(timeout=program.PATIENCE)
        self.assertIn(run.returncode, (1, 2))
        self.assertRegex(said.decode(), r"\Atacet: [^\n]+\n\Z")
