"""Mistakes: exit codes, and one sentence that says what to do."""

import os
import resource

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
        for command in ("run", "inspect", "plan", "devices", "synth", "quantize", "perplexity", "bench", "demo"):
            self.refuses(2, f"tacet {command} --help", command, "--no-such-option")

    def test_unknown_device(self):
        for name in ("gpu", "", "cuda:99"):
            self.refuses(2, "use auto or one of cpu", "run", "--device", name, "hi")

    def test_bad_values(self):
        values = {
            "-n": ("-1", "1.5", "x", "", "99999999999", "nan"),
            "--temp": ("-1", "nan", "inf", "x", ""),
            "--top-k": ("-1", "1.5", "x", "99999999999"),
            "--top-p": ("-0.1", "0", "1.1", "nan", "x"),
            "--min-p": ("-0.1", "1.1", "nan", "x"),
            "--repeat-penalty": ("0", "-1", "nan", "inf", "x"),
            "--seed": ("-1", "x", "1.5", "99999999999999999999999"),
            "--threads": ("0", "-1", "x", "1.5", "513", "nan", " 5", "5 ", "1e1", "0x5"),
            "--ctx": ("0", "-1", "x", "1e3", "1.5", "4194305", "99999999999"),
            "--kv": ("q4_2", "f16/", ""),
            "--deadline": ("5", "ms", "-5ms", "5 ms", "5h", "nanms", "infs", "0x5ms", "", "1e300s", "5msx"),
        }
        for option, bad in values.items():
            for value in bad:
                joined = value.startswith("-") and option.startswith("--")
                words = [f"{option}={value}"] if joined else [option, value]
                said = self.refuses(2, "tacet run --help", "run", *words, "Hello")
                self.assertIn(option.lstrip("-") if option != "-n" else "max-tokens", said)

    def test_missing_value(self):
        self.refuses(2, "--temp", "run", "Hello", "--temp")

    def test_bad_values_of_other_commands(self):
        self.refuses(2, "rows", "plan", "--rows", "0")
        self.refuses(2, "stops", "bench", "stop", "--stops", "0")
        self.refuses(2, "repeat", "bench", "--repeat", "0")
        self.refuses(2, "via", "bench", "stop", "--via", "smoke")
        for kind in ("q9", "f32", "i32", "q4_K"):
            self.refuses(2, r"'\w+' is not one of F16, BF16, Q8_0, ", "synth", "qwen2-0.5b", kind, self.folder / "out.gguf")
        self.refuses(2, "'qwen9' is not one of .*qwen2-0.5b", "synth", "qwen9", "q8_0", self.folder / "out.gguf")
        self.refuses(2, "path is empty", "synth", "tiny-qwen2", "q8_0", "")
        for seed in ("-1", "99999999999999999999", "1.5"):
            self.refuses(2, "seed", "synth", "tiny-qwen2", "q8_0", self.folder / "out.gguf", "--seed", seed)
            self.refuses(2, "seed", "bench", "stop", "--seed", seed)
        self.refuses(2, "nothing to measure", "bench", "--prompt", "0", "--decode", "0")
        self.refuses(2, "--ctx 64", "bench", "stop", "--ctx", "2")
        self.refuses(2, "OUT", "synth", "qwen2-0.5b", "q8_0")
        self.refuses(2, "FILE", "inspect")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_gpu_layers(self):
        for given in ("-1", "some", "", "1.5", "1000001"):
            self.refuses(2, "whole number from 0 to 1000000, auto or all", "run", "--gpu-layers", given, "Hello")
        for given in ("1", "all"):
            self.refuses(1, "no layer can be on a GPU", "run", "--device", "cpu", "--gpu-layers", given, "Hello")
        self.succeeds("plan", "--device", "cpu", "--gpu-layers", "auto")

    def test_limits_are_the_real_ones(self):
        self.refuses(2, "whole number from 1 to 512", "plan", "--rows", "513")
        self.refuses(2, "whole number from 1 to 512", "run", "--threads", "513", "Hello")
        self.refuses(2, "whole number from 1 to 4194304", "run", "--ctx", "4194305", "Hello")
        self.refuses(2, "above 0 and at most 1", "run", "--top-p", "0", "Hello")
        for command in (["plan", "--rows", "512"], ["plan", "--threads", "512"], ["run", "--ctx", "4194304", "-n", "1", "Hi"]):
            self.succeeds(*command)

    def test_zeros_in_front_do_not_make_a_number_octal(self):
        self.assertIn("10 rows", self.succeeds("plan", "--rows", "010"))

    def test_empty_paths(self):
        self.refuses(2, "path is empty", "run", "-m", "", "Hello")
        self.refuses(2, "path is empty", "bench", "--model", "")
        self.refuses(2, "path is empty", "inspect", "")

    def test_equals_signs(self):
        # The parser would take the next word for the value.
        self.refuses(2, "--system \"\"", "run", "--system=", "What is 17 + 25?")
        self.refuses(2, "-n 5", "run", "-n=5", "What is 17 + 25?")
        self.assertEqual(self.succeeds("run", "--", "What is 17 + 25?"), "17 + 25 = 42.\n")

    def test_options_before_a_subcommand(self):
        self.refuses(2, "--model stands before 'stop'", "bench", "-m", "nofile", "stop", "--stops", "1")
        self.refuses(2, "--json stands before 'stop'", "bench", "--json", "stop")

    def test_instruction_set_that_is_none(self):
        self.refuses(2, "TACET_CPU_ISA", "run", "Hello", env=os.environ | {"TACET_CPU_ISA": "nonsense"})

    def test_empty_prompt(self):
        self.refuses(2, "empty", "run", "")
        self.refuses(2, "empty", "run", text=b"")
        self.refuses(2, "empty", "run", text=b"\n")
        self.refuses(2, "empty", "run", "--raw", "")

    def test_prompt_that_is_not_utf8(self):
        self.refuses(2, "UTF-8 from byte 3", "run", b"ab \xff cd")
        self.refuses(2, "UTF-8", "run", text=b"\xc3")
        self.refuses(2, "--system text is not UTF-8", "run", "--system", b"\xc3(", "Hello")
        self.refuses(2, "--stop text is not UTF-8", "run", "--stop", b"\xff", "Hello")

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
        self.assertRegex(run.stderr.decode(), r"\Atacet: [^\n]*context[^\n]*--ctx[^\n]* -n[^\n]*\n\Z")

    def test_file_of_a_broken_model_is_named(self):
        file = self.folder / "broken.gguf"
        file.write_bytes(MODEL.read_bytes().replace(b"qwen3.embedding_length", b"qwen3.embedding_lengtX"))
        self.refuses(1, "broken.gguf", "run", "-m", file, "Hello")

    def test_long_names_are_not_said_whole(self):
        said = self.refuses(1, "too long", "run", "-m", self.folder / ("x" * 300), "Hello")
        self.assertLess(len(self.refuses(1, "too long", "run", "-m", "/x" * 2500, "Hello")), 1100)
        self.succeeds("synth", "tiny-qwen2", "q8_0", self.folder / ("x" * 255))
        self.refuses(1, "too long", "synth", "tiny-qwen2", "q8_0", self.folder / ("x" * 256))

    def test_no_address_space(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
        big = self.folder / "big.gguf"
        with open(big, "wb") as file:
            file.truncate(1 << 30)
        self.refuses(1, "ulimit -v", "inspect", big, preexec_fn=limit)

    def test_file_size_limit(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100 << 10, 100 << 10))
        self.refuses(1, "account allows", "synth", "tiny-qwen2", "q8_0", self.folder / "out.gguf", preexec_fn=limit)
        self.assertEqual(list(self.folder.iterdir()), [])

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
