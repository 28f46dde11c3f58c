"""The other subcommands, and the help."""

import json

import program
from program import Case

COMMANDS = [["run"], ["inspect"], ["plan"], ["devices"], ["synth"], ["quantize"], ["perplexity"], ["bench"],
            ["bench", "stop"], ["demo"]]
MODEL = program.ROOT / "models/tiny-chat-Q8_0.gguf"


class Commands(Case):
    def test_help_has_an_example(self):
        for command in [[], *COMMANDS]:
            said = self.succeeds(*command, "--help")
            self.assertRegex(said, r"Example:\n  tacet " + " ".join(command), command)
            self.assertTrue(command in ([], ["demo"]) or "--json" in said, command)

    def test_help_names_all_commands_and_exit_codes(self):
        said = self.succeeds("--help")
        for command in COMMANDS:
            self.assertIn(f"  {command[0]} ", said)
        for code in (0, 1, 2, 3, 130, 141, 143):
            self.assertRegex(said, rf"\b{code}\b")

    def test_version(self):
        self.assertRegex(self.succeeds("--version"), r"\Atacet \d+\.\d+\.\d+\n\Z")

    def test_inspect(self):
        said = self.succeeds("inspect", MODEL)
        self.assertRegex(said, r"general\.architecture\S* +string +'qwen3'")
        self.assertRegex(said, r"token_embd\.weight\S* +q8_0 +1024 x 256 +278528\b")

    def test_inspect_json(self):
        file = json.loads(self.succeeds("inspect", "--json", MODEL))
        keys = {entry["key"]: entry for entry in file["metadata"]}
        self.assertEqual(keys["general.architecture"]["value"], "qwen3")
        self.assertEqual(keys["tokenizer.ggml.tokens"]["count"], 1024)
        tensors = {tensor["name"]: tensor for tensor in file["tensors"]}
        self.assertEqual(tensors["token_embd.weight"]["shape"], [1024, 256])
        self.assertEqual(tensors["token_embd.weight"]["bytes"], 1024 * 256 // 32 * 34)

    def test_inspect_takes_any_architecture(self):
        file = self.folder / "other.gguf"
        file.write_bytes(MODEL.read_bytes().replace(b"qwen3", b"other", 1))
        self.assertIn("'other'", self.succeeds("inspect", file))
        self.refuses(1, "other", "run", "-m", file, "Hello")

    def test_plan(self):
        said = self.succeeds("plan", "--rows", "32")
        self.assertRegex(said, r"step +op +place +kernel +bytes +operations")
        self.assertRegex(said, r"\n\d+ steps +[\d.]+ MB +[\d.]+ M\n")
        plan = json.loads(self.succeeds("plan", "--json", "--rows", "32", "--keys", "64"))
        self.assertEqual((plan["rows"], plan["keys"]), (32, 64))
        self.assertAlmostEqual(sum(step["bytes"] for step in plan["steps"]), plan["bytes"], delta=1)
        # Two operations for each of 3.4 million weights and each row, and attention.
        self.assertGreater(plan["operations"], 2 * 3e6 * 32)
        self.assertRegex(said, r"All 4 layers are on [^\n]+\n\nplace +layers +weights +keys and values +intermediate values\n")
        self.assertRegex(said, r"\n\w+ +0 to 3 +[\d.]+ MB +[\d.]+ MB ")
        self.assertEqual([(place["first_layer"], place["end_layer"]) for place in plan["places"]], [(0, 4)])
        for step in plan["steps"]:
            self.assertTrue(step["name"] and step["op"] and step["place"] and step["kernel"], step)

    def test_devices(self):
        devices = json.loads(self.succeeds("devices", "--json"))
        self.assertEqual(devices[0]["name"], "cpu")
        self.assertGreater(devices[0]["stop_bound_us"], 0)
        self.assertIn("cpu", self.succeeds("devices"))
        self.assertIn("42", self.succeeds("run", "--device", "cpu", "What is 17 + 25?"))
        self.assertIn("42", self.succeeds("run", "--gpu-layers", "0", "What is 17 + 25?"))

    def test_synth_inspect_run(self):
        for shape, kind in (("tiny-qwen3", "q8_0"), ("tiny-qwen2", "f16"), ("tiny-llama", "q8_0")):
            file, again = self.folder / "small.gguf", self.folder / "again.gguf"
            written = json.loads(self.succeeds("synth", shape, kind, file, "--seed", "3", "--json"))
            self.assertEqual(written["bytes"], file.stat().st_size)
            self.succeeds("synth", shape, kind, again, "--seed", "3")
            self.assertEqual(file.read_bytes(), again.read_bytes())
            self.succeeds("synth", shape, kind, again, "--seed", "4")
            self.assertNotEqual(file.read_bytes(), again.read_bytes())
            self.assertIn("general.architecture", self.succeeds("inspect", file))
            answer = json.loads(self.succeeds("run", "-m", file, "-n", "5", "--raw", "Hello", "--json"))
            self.assertEqual((answer["outcome"]["status"], answer["finish"]), ("done", "token_limit"), shape)

    def test_bench_of_several_sessions(self):
        bench = json.loads(self.succeeds("bench", "--json", "--prompt", "0", "--decode", "4", "--sessions", "3", "--repeat", "1"))
        self.assertEqual([test["test"] for test in bench], ["tg4", "tg4 x3"])
        self.assertGreater(bench[1]["tokens_per_second"]["min"], 0)

    def test_bench_at_a_depth(self):
        bench = json.loads(self.succeeds("bench", "--json", "--prompt", "0", "--decode", "4", "--depth", "100", "--repeat", "1"))
        self.assertEqual([test["test"] for test in bench], ["tg4 @100"])

    def test_bench(self):
        bench = json.loads(self.succeeds("bench", "--json", "--repeat", "2"))
        self.assertEqual([test["test"] for test in bench], ["pp512", "tg128"])
        for test in bench:
            speed = test["tokens_per_second"]
            self.assertTrue(0 < speed["min"] <= speed["median"] <= speed["max"], speed)

    def test_bench_stop(self):
        bench = json.loads(self.succeeds("bench", "stop", "--json", "--stops", "5", "--pairs", "3"))
        for kind in ("prompt", "decode"):
            report = bench[kind]
            self.assertEqual(report["stops"], 5)
            for times in (report["return_us"], report["idle_us"]):
                self.assertTrue(0 < times["min"] <= times["median"] <= times["p99"] <= times["max"], times)
            self.assertGreaterEqual(report["host_gap_p99_us"], 0)
            low, high = report["slowdown_interval_percent"]
            self.assertTrue(low <= report["slowdown_percent"] <= high, report)
            self.assertIs(report["bits_equal"], True)
            self.assertGreaterEqual(report["repeats"], 1)

    def test_bench_stop_by_byte(self):
        said = self.succeeds("bench", "stop", "--stops", "3", "--pairs", "1", "--via", "byte")
        self.assertRegex(said, r"prompt: stop to return +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+\n")

    def test_verbose(self):
        run = program.tacet("run", "-v", "--threads", "2", "What is 17 + 25?")
        self.assertEqual((run.returncode, run.stdout), (0, b"17 + 25 = 42.\n"))
        self.assertRegex(run.stderr.decode(), r"\Atacet: Loaded tiny-chat \(embedded\) in [\d.]+ \w+: qwen3, [^\n]+\n"
                                              r"tacet: It runs on cpu: [^\n]*\n\Z")

    def test_demo(self):
        said = self.succeeds("demo")
        self.assertIn("17 + 25 = 42.", said)
        self.assertRegex(said, r"\[stopped: requested; \d+")
        self.assertRegex(said, r"the same \d+ tokens\]\n\Z")
