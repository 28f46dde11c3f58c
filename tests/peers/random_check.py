#!/usr/bin/env python3
"""random_check.py PROGRAM, or random_check.py --record: the logits and greedy tokens of small random models (random_models.py) by tacet
(PROGRAM, build/release/tacet) against llama.cpp's on the same files.

llama.cpp says, for prompts of 1, 7, 40 and 200 tokens, its greedy tokens and the logits behind the prompt and behind each of
them; tacet gets the same tokens, the prompt in one call and then one at a time. Both keep keys and values in f32. All logits
have to be within a tolerance, and each greedy token has to be tacet's best one unless those two are within it. What a model is
there for (a bias, a way to scale positions) must matter: without it tacet's logits have to move by BY_FAR tolerances.

tests/peers/run asks llama.cpp. As a program this takes what llama.cpp said when --record was last called: the greedy tokens
and the best BEST logits behind each prompt.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
import peer  # noqa: E402
from random_models import F16, MODELS, prompts, without, write  # noqa: E402

REFERENCE = FOLDER.parent / "data/reference/random-models.jsonl"
STEPS = 32
BEST = 8
BY_FAR = 200
# llama.cpp rounds activations to half for F16, and both round them to 8 bits for types with blocks, each in its own way.
TOLERANCES = {"F32": 0.002, "F16": 0.05, "BF16": 0.2, "Q8_0": 0.5, "Q4_0": 0.5}
K_TYPES = 1.0


class Files:
    """Writes models to a folder of its own, in their types."""

    def __init__(self, program):
        self.program = program
        self.folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def write(self, model):
        file = Path(self.folder.name) / "model.gguf"
        write(file, model)
        if not model.quantized:
            return file
        quantized = file.with_name("quantized.gguf")
        subprocess.run([self.program, "quantize", file, quantized, model.quantized], check=True, capture_output=True,
                       timeout=60)
        return quantized


def type_of(model):
    return model.quantized or ("F16" if model.type == F16 else "F32")


def largest(theirs, ours):
    """The largest difference of a logit. theirs: answers of llama.cpp, whose rows are pairs of a token and its logit."""
    pairs = [(logit, row[token]) for answer, rows in zip(theirs, ours)
             for expected, row in zip(answer["logits"], rows) for token, logit in expected]
    # No number is JSON's null.
    return max(float("inf") if None in pair else abs(pair[0] - pair[1]) for pair in pairs)


def greedy_gaps(theirs, ours):
    """How far each greedy token of llama.cpp is below tacet's best, where it is not the best."""
    for answer, rows in zip(theirs, ours):
        for token, row in zip(answer["greedy"], rows):
            if row[token] < max(row):
                yield max(row) - row[token]


class Comparison:
    def __init__(self, program):
        self.program = Path(program)
        self.logits = self.program.parent / "tests/peers/peer_logits"
        self.passed = self.failed = 0

    def ours(self, files, model, theirs):
        with peer.Program(self.logits) as tacet:
            return tacet.ask(file=str(files.write(model)), prompts=prompts(), after=[answer["greedy"] for answer in theirs])

    def check(self, files, model, theirs):
        """A line of the table."""
        tolerance = TOLERANCES.get(type_of(model), K_TYPES)
        ours = self.ours(files, model, theirs)
        difference = largest(theirs, ours)
        gaps = list(greedy_gaps(theirs, ours))
        matters = None
        if model.without:
            dropped = self.ours(files, without(model), theirs)
            matters = max(abs(a - b) for a, b in zip(ours[-1][0], dropped[-1][0]))
        good = difference <= tolerance and max(gaps, default=0) <= tolerance and (
            matters is None or matters >= BY_FAR * tolerance)
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        count = sum(len(answer["greedy"]) for answer in theirs)
        same = f"{count - len(gaps)} of {count}" + (f", others {max(gaps):.2f} below the best" if gaps else "")
        print(f"{'' if good else 'FAILED: '}| {model.name} | {type_of(model)} | {difference:.5f} | {same} | "
              f"{'' if matters is None else f'{matters:.1f}'} |", flush=True)

    def run(self, answers):
        """answers: pairs of a model and a function that gives llama.cpp's answers for a file."""
        print("| model | type | largest difference of a logit | the same greedy tokens | without what it is named for |\n"
              "|---|---|---|---|---|")
        with Files(self.program) as files:
            for model, ask in answers:
                try:
                    self.check(files, model, ask(files.write(model)))
                except (peer.Broken, subprocess.SubprocessError) as error:
                    print(f"FAILED: {model.name}: {error}", flush=True)
                    self.failed += 1
        return self.passed, self.failed


def answers_of(llama, file):
    answers = llama.ask(file=str(file), steps=STEPS, prompts=prompts())
    return [{"greedy": answer["greedy"], "logits": [list(enumerate(row)) for row in answer["logits"]]} for answer in answers]


def check(program, modules):
    """Passed, failed and skipped models."""
    with peer.Peer(FOLDER / "logits.mjs", modules) as llama:
        return *Comparison(program).run((model, lambda file: answers_of(llama, file)) for model in MODELS), 0


def record(program, modules):
    """Writes what llama.cpp says today to REFERENCE."""
    with peer.Peer(FOLDER / "logits.mjs", modules) as llama, Files(program) as files, REFERENCE.open("w") as out:
        for model in MODELS:
            answers = answers_of(llama, files.write(model))
            for answer in answers:
                best = sorted(answer["logits"][0], key=lambda pair: -pair[1])[:BEST]
                answer["logits"] = [[[token, round(logit, 5)] for token, logit in best]]
            print(json.dumps({"model": model.name, "answers": answers}, separators=(",", ":")), file=out)


def main():
    if sys.argv[1:] == ["--record"]:
        record(peer.ROOT / "build/release/tacet", peer.install())
        return 0
    recorded = {line["model"]: line["answers"] for line in map(json.loads, REFERENCE.read_text().splitlines())}
    if list(recorded) != [model.name for model in MODELS]:
        print(f"FAILED: {REFERENCE} has other models than random_models.py; {Path(__file__).name} --record writes it again")
        return 1
    passed, failed = Comparison(sys.argv[1]).run((model, lambda _, model=model: recorded[model.name]) for model in MODELS)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
