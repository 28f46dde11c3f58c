#!/usr/bin/env python3
"""Perplexity of tiny-chat in each type, by tacet quantize and by llama.cpp's quantizer, and with each type of keys and values.

usage: bench/perplexity.py [TACET]    needs ../shared/models (or TACET_SHARED) for llama.cpp's files
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/tacet").resolve()
ORIGINAL = ROOT / "models/tiny-chat-f16.gguf"
THEIRS = Path(os.environ.get("TACET_SHARED", ROOT.parent / "shared")) / "models/quantized"
MIXES = ["Q8_0", "Q6_K", "Q5_K_M", "Q5_1", "Q5_0", "Q4_K_M", "Q4_1", "Q4_0", "IQ4_NL", "IQ4_XS", "Q3_K_M", "Q2_K"]
KV_TYPES = ["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"]


def text(count):
    """Sums as tiny-chat knows them, always the same."""
    pairs = [(i * 37 % 60 + 1, i * 23 % 39 + 1) for i in range(count)]
    return "".join(f"<|im_start|>user\nWhat is {a} + {b}?<|im_end|>\n<|im_start|>assistant\n{a} + {b} = {a + b}.<|im_end|>\n"
                   for a, b in pairs)


def perplexity(file, model, *options):
    command = [PROGRAM, "perplexity", "--json", "--special", "--ctx", "256", "-m", model, *options, file]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["perplexity"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        file, model = Path(folder) / "sums.txt", Path(folder) / "model.gguf"
        file.write_text(text(1500))
        base = perplexity(file, ORIGINAL)
        print(f"| f16 | {base:.4f} | | |")
        for mix in MIXES:
            subprocess.run([PROGRAM, "quantize", ORIGINAL, model, mix], check=True, capture_output=True)
            ours, size = perplexity(file, model), model.stat().st_size
            theirs = THEIRS / f"tiny-chat-{mix}.gguf"
            if not theirs.exists():
                print(f"| {mix} | {ours:.4f} | {theirs} is not there | |")
                continue
            expected = perplexity(file, theirs)
            same = "equal" if size == theirs.stat().st_size else f"{size} and {theirs.stat().st_size} bytes"
            print(f"| {mix} | {ours:.4f} | {expected:.4f} | {100 * (ours / expected - 1):+.2f}% | {same} |")
        for kv in KV_TYPES:
            value = perplexity(file, ORIGINAL, "--kv", kv)
            print(f"| keys and values {kv} | {value:.4f} | | {100 * (value / base - 1):+.2f}% |")


if __name__ == "__main__":
    main()
