"""Writes a GGUF file that holds a vocabulary and no weights, which is all that a tokenizer needs."""

import base64
import struct

import gguf_file
from gguf_file import F32, I32, U8, array, entry, strings


def entries(vocabulary):
    """The keys of a file, of a vocabulary as data/tokenizer_cases.json has it."""
    tokens = vocabulary["tokens"]
    yield "general.architecture", entry("llama")
    yield "tokenizer.ggml.model", entry(vocabulary["model"])
    yield "tokenizer.ggml.tokens", strings(tokens)
    yield "tokenizer.ggml.token_type", array(I32, struct.pack(f"<{len(tokens)}i", *vocabulary["types"]), len(tokens))
    if "scores" in vocabulary:
        yield "tokenizer.ggml.scores", array(F32, struct.pack(f"<{len(tokens)}f", *vocabulary["scores"]), len(tokens))
    if "merges" in vocabulary:
        yield "tokenizer.ggml.merges", strings(vocabulary["merges"])
    if "charsmap" in vocabulary:
        data = base64.b64decode(vocabulary["charsmap"])
        yield "tokenizer.ggml.precompiled_charsmap", array(U8, data, len(data))
    for key, value in vocabulary["keys"].items():
        yield f"tokenizer.ggml.{key}", entry(value)


def write(path, vocabulary, pre):
    gguf_file.write(path, list(entries(vocabulary)) + [("tokenizer.ggml.pre", entry(pre))])
