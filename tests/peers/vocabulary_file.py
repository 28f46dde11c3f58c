"""Writes a GGUF file that holds a vocabulary and no weights, which is all that a tokenizer needs."""

import base64
import struct

U8, U32, I32, F32, BOOL, STRING, ARRAY = 0, 4, 5, 6, 7, 8, 9


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def array(kind, packed, count):
    return ARRAY, struct.pack("<IQ", kind, count) + packed


def strings(values):
    return array(STRING, b"".join(map(text, values)), len(values))


def entry(value):
    """The type and the bytes of a scalar."""
    if isinstance(value, bool):
        return BOOL, struct.pack("<?", value)
    if isinstance(value, int):
        return U32, struct.pack("<I", value)
    return STRING, text(value)


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
    keys = list(entries(vocabulary)) + [("tokenizer.ggml.pre", entry(pre))]
    with open(path, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys)))
        for key, (kind, data) in keys:
            file.write(text(key) + struct.pack("<I", kind) + data)
