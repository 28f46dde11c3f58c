"""tacet quantize and tacet perplexity."""

import json
import os
import resource
import signal
import time

import program
from program import Case, Terminal

F16 = program.ROOT / "models/tiny-chat-f16.gguf"
Q8_0 = program.ROOT / "models/tiny-chat-Q8_0.gguf"


def sums(count):
    """Questions and answers as the model knows them, always the same."""
    pairs = [(i * 37 % 60 + 1, i * 23 % 39 + 1) for i in range(count)]
    return "".join(f"<|im_start|>user\nWhat is {a} + {b}?<|im_end|>\n<|im_start|>assistant\n{a} + {b} = {a + b}."
                   "<|im_end|>\n" for a, b in pairs)


class Quantize(Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out.gguf"

    def left(self):
        return sorted(file.name for file in self.folder.iterdir())

    def test_each_type(self):
        sizes = {}
        for kind in ("Q2_K", "Q3_K_S", "Q3_K_M", "IQ4_XS", "Q4_0", "IQ4_NL", "Q4_K_S", "Q4_K_M", "Q4_1", "Q5_0", "Q5_K_S",
                     "Q5_1", "Q5_K_M", "Q6_K", "Q8_0", "F16", "BF16", "MXFP4", "Q3_K_L", "Q2_K_S"):
            self.succeeds("quantize", F16, self.out, kind.lower())
            sizes[kind] = self.out.stat().st_size
            file = json.loads(self.succeeds("inspect", "--json", self.out))
            keys = {entry["key"]: entry for entry in file["metadata"]}
            self.assertEqual(keys["general.quantization_version"]["value"], 2)
            self.assertEqual(keys["general.name"]["value"], "tiny-chat")
        # Those of llama.cpp's files.
        expected = {"Q4_0": 2026528, "Q4_K_M": 2144800, "Q5_K_M": 2480672, "Q6_K": 2837536, "Q8_0": 3662880,
                    "IQ4_XS": 1928224, "Q2_K": 1409056, "Q3_K_M": 1773600}
        self.assertEqual({kind: sizes[kind] for kind in expected}, expected)

    def test_json_and_text(self):
        said = json.loads(self.succeeds("quantize", F16, self.out, "q4_k_m", "--json", "--threads", "1"))
        self.assertEqual((said["type"], said["file"], said["converted"], said["substituted"]),
                         ("Q4_K_M", str(self.out), 29, 0))
        self.assertEqual(said["bytes"], self.out.stat().st_size)
        self.assertLess(said["tensor_bytes"], said["input_tensor_bytes"])
        one_thread = self.out.read_bytes()
        self.assertRegex(self.succeeds("quantize", F16, self.out, "Q4_K_M"), r"out\.gguf: Q4_K_M, 2\.1 MB \(of 6\.8 MB\), 29 ")
        self.assertEqual(self.out.read_bytes(), one_thread)

    def test_rows_that_are_not_whole_blocks(self):
        narrow = self.folder / "narrow.gguf"
        self.succeeds("synth", "tiny-qwen2", "f16", narrow)
        self.assertRegex(self.succeeds("quantize", narrow, self.out, "Q4_K_M"), r"\d+ of them to types with smaller blocks")
        types = {t["type"] for t in json.loads(self.succeeds("inspect", "--json", self.out))["tensors"]}
        self.assertEqual(types, {"f32", "q5_0", "q8_0"})

    def test_the_result_runs(self):
        self.succeeds("quantize", F16, self.out, "q8_0")
        self.assertEqual(self.succeeds("run", "-m", self.out, "What is 17 + 25?"), "17 + 25 = 42.\n")

    def test_bad_arguments(self):
        self.refuses(2, "'Q9' is not one of F16, BF16, Q8_0, ", "quantize", F16, self.out, "Q9")
        self.refuses(2, "'q4_k' is not one of", "quantize", F16, self.out, "q4_k")
        self.refuses(2, "TYPE", "quantize", F16, self.out)
        self.refuses(2, "path is empty", "quantize", F16, "", "Q4_0")
        self.refuses(2, "threads", "quantize", F16, self.out, "Q4_0", "--threads", "0")
        self.assertEqual(self.left(), [])

    def test_bad_files(self):
        self.refuses(1, "none.gguf", "quantize", self.folder / "none.gguf", self.out, "Q4_0")
        self.refuses(1, "directory|regular", "quantize", self.folder, self.out, "Q4_0")
        self.refuses(1, "nowhere", "quantize", F16, self.folder / "nowhere/out.gguf", "Q4_0")
        self.refuses(1, "is a directory", "quantize", F16, self.folder, "Q4_0")
        cut = self.folder / "cut.gguf"
        cut.write_bytes(F16.read_bytes()[:3_000_000])
        self.refuses(1, r"cut\.gguf: .*beyond|cut\.gguf", "quantize", cut, self.out, "Q4_0")
        cut.write_bytes(b"not a model")
        self.refuses(1, r"cut\.gguf", "quantize", cut, self.out, "Q4_0")
        self.assertEqual(self.left(), ["cut.gguf"])

    def test_the_input_is_not_overwritten(self):
        model = self.folder / "model.gguf"
        model.write_bytes(F16.read_bytes())
        os.symlink(model, self.folder / "link.gguf")
        for out in (model, self.folder / "link.gguf", self.folder / "../" / self.folder.name / "model.gguf"):
            self.refuses(1, "is the input itself", "quantize", model, out, "Q4_0")
        self.assertEqual(model.read_bytes(), F16.read_bytes())

    def test_quantized_input(self):
        self.refuses(1, "quantized already.*--requantize", "quantize", Q8_0, self.out, "Q4_0")
        self.assertEqual(self.left(), [])
        self.succeeds("quantize", Q8_0, self.out, "Q4_0", "--requantize")
        self.assertEqual(self.out.stat().st_size, 2026528)
        # Nothing is lost where the type stays.
        self.succeeds("quantize", Q8_0, self.out, "Q8_0")

    def test_file_size_limit(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100 << 10, 100 << 10))
        self.refuses(1, "account allows", "quantize", F16, self.out, "Q4_0", preexec_fn=limit)
        self.assertEqual(self.left(), [])

    def test_output_that_is_no_file(self):
        self.refuses(1, "not a regular file", "quantize", F16, "/dev/full", "Q4_0")

    def big(self):
        """A file that takes seconds to quantize."""
        big = self.folder / "big.gguf"
        self.succeeds("synth", "qwen2-0.5b", "f16", big)
        return big

    def test_stops(self):
        big = self.big()
        for signals, code in (((signal.SIGINT,), 130), ((signal.SIGTERM,), 143), ((signal.SIGINT, signal.SIGINT), None)):
            run = program.start("quantize", big, self.out, "Q4_K_M", "--threads", "1")
            time.sleep(1)
            begin = time.monotonic()
            for number in signals:
                run.send_signal(number)
            text, said = run.communicate(timeout=program.PATIENCE)
            self.assertLess(time.monotonic() - begin, 10)
            self.assertEqual((text, said), (b"", b""))
            if code:
                self.assertEqual(run.returncode, code)
            self.assertNotEqual(run.returncode, 0)
            self.assertEqual(self.left(), ["big.gguf"])

    def test_progress_on_a_terminal(self):
        with Terminal("quantize", str(self.big()), str(self.out), "Q4_K_M") as terminal:
            terminal.until(r"quantizing \[#*\.+\] +\d+%")
            terminal.type("\x03")
            self.assertEqual(terminal.ends(), 130)
        self.assertEqual(self.left(), ["big.gguf"])


class Perplexity(Case):
    def setUp(self):
        super().setUp()
        self.text = self.folder / "sums.txt"
        self.text.write_text(sums(200))

    def test_text_and_json(self):
        said = self.succeeds("perplexity", "--special", "--ctx", "256", "--chunks", "3", self.text)
        self.assertRegex(said, r"\A\[1\] [\d.]+, \[2\] [\d.]+, \[3\] [\d.]+\n"
                               r"perplexity [\d.]+ \+/- [\d.]+: 381 tokens in 3 chunks of 256\n\Z")
        answer = json.loads(self.succeeds("perplexity", "--special", "--ctx", "256", "--chunks", "3", "--json", self.text))
        self.assertEqual((answer["context"], answer["chunks"], answer["tokens"]), (256, 3, 381))
        self.assertEqual(len(answer["running"]), 3)
        self.assertEqual(answer["running"][-1], answer["perplexity"])
        # The model knows its sums; llama.cpp has 2.30 for eight such chunks.
        self.assertTrue(2 < answer["perplexity"] < 2.6, answer)
        self.assertTrue(0 < answer["standard_error"] < 0.5, answer)

    def test_keys_and_values_and_threads(self):
        def of(*options):
            return json.loads(self.succeeds("perplexity", "--special", "--chunks", "2", "--json", *options, self.text))
        plain = of()
        self.assertEqual(plain["context"], 512)
        self.assertEqual(of("--threads", "1")["running"], plain["running"])
        for kind in ("f32", "q8_0"):
            self.assertAlmostEqual(of("--kv", kind)["perplexity"] / plain["perplexity"], 1, delta=0.01)

    def test_random_weights_know_nothing(self):
        noise = self.folder / "noise.gguf"
        self.succeeds("synth", "tiny-qwen2", "f16", noise)
        answer = json.loads(self.succeeds("perplexity", "-m", noise, "--json", self.text))
        # Of 512 tokens; logits that vary by about 1 add exp(1/2).
        self.assertTrue(300 < answer["perplexity"] < 2000, answer)

    def test_bad_arguments(self):
        self.refuses(2, "FILE", "perplexity")
        self.refuses(1, "none.txt", "perplexity", self.folder / "none.txt")
        self.refuses(1, "none.gguf", "perplexity", "-m", self.folder / "none.gguf", self.text)
        self.refuses(2, "whole number from 4", "perplexity", "--ctx", "3", self.text)
        self.refuses(2, "chunks", "perplexity", "--chunks", "0", self.text)
        short = self.folder / "short.txt"
        short.write_text("Once upon a time")
        self.refuses(2, "tokens, less than one chunk of 512", "perplexity", short)

    def test_stops(self):
        text = self.folder / "long.txt"
        text.write_text(sums(60_000))
        run = program.start("perplexity", "--special", text)
        seen = run.stdout.read(6)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=program.PATIENCE)
        self.assertEqual((run.returncode, said), (130, b""))
        self.assertTrue(seen.startswith(b"[1] "))
