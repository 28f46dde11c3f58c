"""Small random models of each family with whatever real ones have: a table of them, and their files."""

import array
import math
import random
import struct
from dataclasses import dataclass, field, replace

import gguf_file
from gguf_file import I32, entry, strings

VOCABULARY = 320
CONTEXT = 512
F32, F16 = 0, 1
PRODUCTS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
QKV = PRODUCTS[:3]


@dataclass(frozen=True)
class Model:
    """Keys are those of a file, without the architecture; `without` are the fields that drop what the model is there for."""
    name: str
    family: str = "llama"
    heads: int = 4
    kv_heads: int = 2
    head: int = 48
    width: int = 192
    hidden: int = 256
    layers: int = 2
    tied: bool = False
    biases: tuple = ()
    rope_factors: bool = False
    keys: dict = field(default_factory=dict)
    type: int = F32
    quantized: str = ""  # by tacet quantize
    sharpness: float = 1.5  # of attention: the more, the more roundings grow from layer to layer
    without: dict = field(default_factory=dict)


def yarn(**more):
    return {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 128} | more


def qwen2(name, **more):
    return Model(name, **({"family": "qwen2", "biases": QKV} | more))


def qwen3(name, **more):
    return Model(name, **({"family": "qwen3", "head": 64} | more))


LINEAR = {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}
BLOCKS = {"width": 256, "head": 64, "hidden": 512, "sharpness": 0.5}  # rows of whole blocks of 256
NO_YARN = {"keys": LINEAR}
PLAIN = {"keys": {}}

MODELS = [
    Model("llama"),
    Model("llama tied", tied=True),
    Model("llama one layer", layers=1),
    Model("llama rope_freqs", rope_factors=True, without={"rope_factors": False}),
    Model("llama rope base 500000", keys={"rope.freq_base": 500000.0}, without=PLAIN),
    Model("llama 3 heads of 64, 1 kv", heads=3, kv_heads=1, head=64),
    Model("llama 5 heads of 80, 5 kv", heads=5, kv_heads=5, head=80, width=400),
    Model("llama 7 heads of 48, 7 kv", heads=7, kv_heads=7, width=336, keys={"attention.head_count_kv": None}),
    Model("llama 6 heads of 80, 2 kv, width 192", heads=6, kv_heads=2, head=80),
    Model("llama 1 head of 256", heads=1, kv_heads=1, head=256, width=256),
    Model("llama 9 heads of 24, 3 kv, width 200", heads=9, kv_heads=3, head=24, width=200, hidden=100),
    Model("llama biases of q k v", biases=QKV, without={"biases": ()}),
    Model("llama bias of attn_output", biases=("attn_output",), without={"biases": ()}),
    Model("llama biases of ffn", biases=PRODUCTS[4:], without={"biases": ()}),
    Model("llama all biases, rope_freqs, tied", biases=PRODUCTS, rope_factors=True, tied=True),
    Model("llama linear", keys=LINEAR, without=PLAIN),
    Model("llama scale_linear", keys={"rope.scale_linear": 4.0}, without=PLAIN),
    Model("llama scaling none", keys={"rope.scaling.type": "none", "rope.scaling.factor": 4.0}, without=NO_YARN),
    Model("llama yarn", keys=yarn(), without=NO_YARN),
    Model("llama yarn of 4096 positions", head=64, keys=yarn(**{"rope.scaling.original_context_length": 4096}), without=NO_YARN),
    Model("llama yarn, attn_factor", keys=yarn(**{"rope.scaling.attn_factor": 1.25}), without={"keys": yarn()}),
    Model("llama yarn, rope_freqs", keys=yarn(), rope_factors=True, without={"rope_factors": False}),
    Model("llama linear, attn_factor", keys=LINEAR | {"rope.scaling.attn_factor": 1.25}, without={"keys": LINEAR}),
    Model("llama epsilon 0.1", keys={"attention.layer_norm_rms_epsilon": 0.1}, without=PLAIN),
    Model("llama F16", type=F16),
    Model("llama BF16", quantized="BF16", sharpness=0.5),
    Model("llama Q8_0", **BLOCKS, quantized="Q8_0"),
    Model("llama Q4_K_M", **BLOCKS, quantized="Q4_K_M"),
    qwen2("qwen2", without={"biases": ()}),
    qwen2("qwen2 tied", tied=True),
    qwen2("qwen2 7 heads of 64, 1 kv", heads=7, kv_heads=1, head=64, width=448, layers=3),
    qwen2("qwen2 yarn, rope base 1000000", keys=yarn(**{"rope.freq_base": 1e6})),
    qwen2("qwen2 yarn beyond its context", keys=yarn(**{"rope.scaling.original_context_length": 16}), without=NO_YARN),
    qwen2("qwen2 linear", keys=LINEAR, without=PLAIN),
    qwen2("qwen2 Q8_0 tied", **BLOCKS, tied=True, quantized="Q8_0"),
    qwen2("qwen2 Q4_0", **BLOCKS, quantized="Q4_0"),
    qwen3("qwen3"),
    qwen3("qwen3 tied", tied=True),
    qwen3("qwen3 head 128, width 192", head=128, heads=2, kv_heads=1, tied=True),
    qwen3("qwen3 5 heads of 32, 1 kv", heads=5, kv_heads=1, head=32, width=160),
    qwen3("qwen3 yarn, rope base 1000000", keys=yarn(**{"rope.freq_base": 1e6}), without=NO_YARN),
    qwen3("qwen3 epsilon 0.1", keys={"attention.layer_norm_rms_epsilon": 0.1}, without=PLAIN),
    qwen3("qwen3 Q6_K", **BLOCKS, quantized="Q6_K"),
]


def without(model):
    """The same model less what `model` is there for."""
    return replace(model, **model.without)


def prompts():
    chosen = random.Random("prompts")
    return [[chosen.randrange(256) for _ in range(length)] for length in (1, 7, 40, 200)]


def uniform(name, count, low, high):
    source = random.Random(name).random
    return array.array("f", [low + (high - low) * source() for _ in range(count)])


def rope_factors(model):
    """As converters compute Llama 3.1's (factor 8, low 1, high 4), of a model that saw 64 positions before instead of 8192."""
    factors = []
    for i in range(model.head // 2):
        turns = 64 / (2 * math.pi * model.keys.get("rope.freq_base", 10000.0) ** (2 * i / model.head))
        kept = min(1, max(0, (turns - 1) / (4 - 1)))
        factors.append(1 / ((1 - kept) / 8 + kept))
    return array.array("f", factors)


def tensors(model):
    """Names, shapes and values: such that attention is sharp and logits are some units apart."""
    q, kv = model.heads * model.head, model.kv_heads * model.head
    size = model.width

    def matrix(name, rows, columns, deviation):
        limit = math.sqrt(3) * deviation
        return name, (rows, columns), uniform(name, rows * columns, -limit, limit)

    def vector(name, count, low, high):
        return name, (count,), uniform(name, count, low, high)

    yield matrix("token_embd.weight", VOCABULARY, size, 0.25)
    yield vector("output_norm.weight", size, 0.5, 1.5)
    if not model.tied:
        yield matrix("output.weight", VOCABULARY, size, 3 / math.sqrt(size))
    if model.rope_factors:
        yield "rope_freqs.weight", (model.head // 2,), rope_factors(model)
    shapes = {"attn_q": (q, size, model.sharpness), "attn_k": (kv, size, model.sharpness),
              "attn_v": (kv, size, 1), "attn_output": (size, q, 1),
              "ffn_gate": (model.hidden, size, 1), "ffn_up": (model.hidden, size, 1), "ffn_down": (size, model.hidden, 1)}
    for layer in range(model.layers):
        block = f"blk.{layer}."
        yield vector(block + "attn_norm.weight", size, 0.5, 1.5)
        yield vector(block + "ffn_norm.weight", size, 0.5, 1.5)
        for name, (rows, columns, gain) in shapes.items():
            yield matrix(f"{block}{name}.weight", rows, columns, gain / math.sqrt(columns))
            if name in model.biases:
                yield vector(f"{block}{name}.bias", rows, -0.5, 0.5)
        if model.family == "qwen3":
            for name in ("attn_q_norm", "attn_k_norm"):
                yield vector(f"{block}{name}.weight", model.head, 0.5 * model.sharpness, 1.4 * model.sharpness)


def metadata(model):
    keys = {"block_count": model.layers, "context_length": CONTEXT, "embedding_length": model.width,
            "feed_forward_length": model.hidden, "attention.head_count": model.heads,
            "attention.head_count_kv": model.kv_heads, "attention.layer_norm_rms_epsilon": 1e-5}
    if model.heads * model.head != model.width:
        keys |= {"attention.key_length": model.head, "attention.value_length": model.head,
                 "rope.dimension_count": model.head}
    for key, value in (keys | model.keys).items():
        if value is not None:
            yield f"{model.family}.{key}", entry(value)


def vocabulary():
    """The 256 bytes as byte-level BPE spells them, and words."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(256, 512))
    tokens = [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]
    tokens += ["th"] + [f"word{i}" for i in range(VOCABULARY - len(tokens) - 1)]
    yield "tokenizer.ggml.model", entry("gpt2")
    yield "tokenizer.ggml.pre", entry("gpt-2")
    yield "tokenizer.ggml.tokens", strings(tokens)
    yield "tokenizer.ggml.token_type", gguf_file.array(I32, struct.pack(f"<{VOCABULARY}i", *[1] * VOCABULARY), VOCABULARY)
    yield "tokenizer.ggml.merges", strings(["t h"])
    yield "tokenizer.ggml.eos_token_id", entry(VOCABULARY - 1)
    yield "tokenizer.ggml.bos_token_id", entry(VOCABULARY - 1)
    yield "tokenizer.chat_template", entry("{{ messages[0].content }}")


def packed(values, kind):
    return struct.pack(f"<{len(values)}e", *values) if kind == F16 else values.tobytes()


def write(path, model):
    keys = [("general.architecture", entry(model.family)), *metadata(model), *vocabulary()]
    parts = []
    for name, shape, values in tensors(model):
        kind = model.type if len(shape) == 2 else F32
        parts.append((name, shape, kind, packed(values, kind)))
    gguf_file.write(path, keys, parts)
