#!/usr/bin/env python3
"""Writes data/tokenizer_cases.json: small vocabularies, texts, and the ids that others make of them.

make_tokenizer_cases.py MODULES: run by hand when a case is added; the tests read the file. It needs python3 with
sentencepiece 0.1.97, and the folder MODULES with node-llama-cpp (see peers/peer.py) and @huggingface/tokenizers 0.2.
Where the three do not agree, the case says which of them is followed: the one that the models were made with."""

import base64
import collections
import io
import json
import pathlib
import subprocess
import sys
import tempfile

import sentencepiece

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "peers"), str(HERE)]
sys.dont_write_bytecode = True
import tokenizer_texts  # noqa: E402
import vocabulary_file  # noqa: E402

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
ALL = tokenizer_texts.TEXTS + tokenizer_texts.MARKED
SPACE = "\u2581"


# Byte-level BPE. The merges cross every border of words, so that a wrong cut shows.

def byte_alphabet():
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    other = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(0x100 + i) for i, b in enumerate(other)}}


def learn_merges(texts, count):
    """Merges of neighbours, the most frequent first; pairs that occur once do not count."""
    words = [list(text) for text in texts]
    merges = []
    while len(merges) < count:
        pairs = collections.Counter()
        for word in words:
            pairs.update(zip(word, word[1:]))
        (left, right), times = min(pairs.items(), key=lambda item: (-item[1], item[0]))
        if times < 2:
            break
        merges.append((left, right))
        for word in words:
            i = 0
            while i + 1 < len(word):
                if word[i] == left and word[i + 1] == right:
                    word[i:i + 2] = [left + right]
                i += 1
    return merges


def bpe_vocabulary():
    alphabet = byte_alphabet()
    merges = learn_merges(["".join(alphabet[b] for b in text.encode()) for text in tokenizer_texts.TEXTS], 1100)
    tokens = [alphabet[b] for b in range(256)] + list(dict.fromkeys(left + right for left, right in merges))
    # Words that no merges lead to: only taken where whole words are.
    tokens += [word for word in ("ĠWorld", "Hello", "camel", "ĠÐ¼Ð°ÑıÐº") if word not in tokens]
    types = [NORMAL] * len(tokens) + [CONTROL, USER]
    return {"model": "gpt2", "tokens": tokens + ["<ctrl>", "<tool>"], "types": types,
            "merges": [f"{left} {right}" for left, right in merges], "keys": {}}


def character_vocabulary():
    # Lines end texts: no merge of the real vocabularies has a line break and another character.
    texts = [text.replace(" ", SPACE) for text in [*tokenizer_texts.PROSE.splitlines(), "\n" * 8]]
    merges = learn_merges(texts, 200)
    characters = sorted(set("".join(texts)))
    tokens = ["<pad>", "<bos>"] + [f"<0x{b:02X}>" for b in range(256)] + characters
    types = [CONTROL] * 2 + [BYTE] * 256 + [NORMAL] * len(characters)
    for left, right in merges:
        if left + right not in tokens:
            tokens.append(left + right)
            types.append(NORMAL)
    return {"model": "gemma4", "tokens": tokens + ["<ctrl>", "<tool>"], "types": types + [CONTROL, USER],
            "merges": [f"{left} {right}" for left, right in merges], "keys": {"bos_token_id": 1}}


# SentencePiece's own.

def fields(message):
    """Field numbers and values of a protocol buffer, as far as they are bytes or numbers."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        elif key & 7 == 2:
            size = number()
            yield key >> 3, message[at:at + size]
            at += size
        else:
            at += {1: 8, 5: 4}[key & 7]


def sentence_vocabulary(model, **options):
    """A vocabulary that SentencePiece trains, and its processor."""
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(tokenizer_texts.PROSE.splitlines() * 4 + tokenizer_texts.TEXTS * 2), model_writer=made,
        hard_vocab_limit=False, character_coverage=0.98, minloglevel=2, num_threads=1, **options)
    processor = sentencepiece.SentencePieceProcessor(model_proto=made.getvalue())
    kinds = [(processor.is_unknown, UNKNOWN), (processor.is_control, CONTROL), (processor.is_byte, BYTE)]
    tokens, types = [], []
    for i in range(processor.get_piece_size()):
        tokens.append(processor.id_to_piece(i))
        types.append(next((kind for test, kind in kinds if test(i)), NORMAL))
    scores = [processor.get_score(i) for i in range(len(tokens))]
    normalizer = dict(fields(dict(fields(made.getvalue()))[3]))
    vocabulary = {"model": model, "tokens": tokens + ["<ctrl>", "<tool>"], "types": types + [CONTROL, USER],
                  "scores": scores + [0.0, 0.0],
                  "keys": {"add_space_prefix": bool(normalizer.get(3, 1)),
                           "remove_extra_whitespaces": bool(normalizer.get(4, 1)),
                           "unknown_token_id": processor.unk_id()}}
    if normalizer.get(2):
        vocabulary["charsmap"] = base64.b64encode(normalizer[2]).decode()
    return vocabulary, processor


# BERT's. As GGUF's converter writes them (what begins a word is marked), and as BERT's own files are.

WORDS = """the old light ##house keeper count ##ed ship ##s gull and at last star it ' s late she said ; they ll come , won
t no ##body d answer . we re here i m sure der for ##ster gro ##ßt ##te fruh wo est la foret el nin ##o com ##io старый
маяк стоял у мор ##я ноч ##ью море свет ##ило ##сь ο φ ##αρος hello world ! a ##a ab ##ab x ##y z un ##aff ##able 1 2 3
##1 ##2 ##3 12 123 灯 台 は ##海 海 を 見 漢 字 한 ##글 ᄒ ##ᅡ ##ᆫ e ##e [ ] ( ) # ##x ▁ ? - / : = + < > tool ctrl s ##' café
n ##n ##d ##l ##g o ##o w ##w c ##c b ##b cam ##el ##case http ##server""".split()
CASED = WORDS + "The Old Hello World HTTP ##Server Der Förster größte It Ü ##n ##ï É Café A ##A ##B É".split()


def bert_vocabulary(words, phantom, **keys):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    types = [CONTROL, UNKNOWN, CONTROL, CONTROL]
    for word in dict.fromkeys(words):
        if phantom:
            word = word[2:] if word.startswith("##") and len(word) > 2 else SPACE + word
        tokens.append(word)
        types.append(NORMAL)
    return {"model": "bert", "tokens": tokens + ["<ctrl>", "<tool>"], "types": types + [CONTROL, USER],
            "keys": {"unknown_token_id": 1, "bos_token_id": 2, "seperator_token_id": 3, **keys}}


# Hugging Face's form of the same: tokenizer.json.

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LINES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
CASED_LETTERS = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+%s|"
                 r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*%s|")


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def bytes_of(use_regex):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


LETTERS = ("A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF"
           "\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1\u03A3-\u03F5"
           "\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5\u13F8-\u13FD\u1C90-\u1CBA"
           "\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45"
           "\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE"
           "\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102"
           "\u2107\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139"
           "\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3"
           "\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06"
           "\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A\U00010400-\U0001044F\U000104B0-\U000104D3"
           "\U000104D8-\U000104FB\U00010C80-\U00010CB2\U00010CC0-\U00010CF2\U000118A0-\U000118DF"
           "\U0001E900-\U0001E943")
DIGITS = {"type": "Digits", "individual_digits": True}
PRE_TOKENIZERS = {
    "gpt-2": [bytes_of(True)],
    "smollm": [DIGITS, bytes_of(True)],
    "llama-bpe": [split(CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + LINES),
                  bytes_of(False)],
    "qwen2": [split(CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + LINES), bytes_of(False)],
    "gpt-4o": [split(CASED_LETTERS % (CONTRACTIONS + "?", CONTRACTIONS + "?") +
                     r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + LINES), bytes_of(False)],
    "tekken": [split(CASED_LETTERS % ("", "") + r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + LINES), bytes_of(False)],
    "deepseek-llm": [split(r"[\r\n]"), split(rf"\s?[{LETTERS}]+"), split(r"\s?[!-/:-~！-／：-～‘-‟\u3000-。]+"), split(r"\s+$"),
                     split("[一-龥\u0800-一가-\ud7ff]+"), DIGITS, bytes_of(False)],
    "deepseek-v3": [split(r"\p{N}{1,3}"), split("[一-龥\u3040-ゟ゠-ヿ]+"),
                    split(r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
                          r" ?[\p{P}\p{S}]+[\r\n]*|" + LINES), bytes_of(False)],
}


def tokenizer_json(vocabulary, pre):
    tokens, types = vocabulary["tokens"], vocabulary["types"]
    added = [{"id": i, "content": token, "special": types[i] == CONTROL, "single_word": False, "lstrip": False,
              "rstrip": False, "normalized": False} for i, token in enumerate(tokens) if types[i] == USER]
    ids = {token: i for i, token in enumerate(tokens) if types[i] not in (CONTROL, USER)}
    result = {"version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": None, "decoder": None,
              "post_processor": None}
    if vocabulary["model"] == "gpt2":
        result["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": PRE_TOKENIZERS[pre]}
        result["model"] = {"type": "BPE", "vocab": ids, "merges": vocabulary["merges"], "byte_fallback": False,
                           "ignore_merges": pre in ("llama-bpe", "tekken")}
    elif vocabulary["model"] == "gemma4":
        result["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
        result["model"] = {"type": "BPE", "vocab": ids, "merges": vocabulary["merges"], "byte_fallback": True}
    else:
        cased = any("A" <= c <= "Z" for token in ids if not token.startswith("[") for c in token)
        result["normalizer"] = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                                "strip_accents": None, "lowercase": not cased}
        result["pre_tokenizer"] = {"type": "BertPreTokenizer"}
        result["model"] = {"type": "WordPiece", "vocab": ids, "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                           "max_input_chars_per_word": 100}
    return result


HUGGING_FACE = """
import {createInterface} from "node:readline";
import {Tokenizer} from "%s/@huggingface/tokenizers/dist/tokenizers.mjs";
for await (const line of createInterface({input: process.stdin})) {
    const {json, texts} = JSON.parse(line);
    const tokenizer = new Tokenizer(json, {});
    console.log(JSON.stringify(texts.map((text) => [...tokenizer.encode(text, {add_special_tokens: false}).ids])));
}
"""


class Peers:
    def __init__(self, modules, folder):
        self.modules = pathlib.Path(modules).resolve()
        self.folder = pathlib.Path(folder)

    def node(self, script, *arguments, request):
        done = subprocess.run(["node", script, *map(str, arguments)], input=json.dumps(request) + "\n", text=True,
                              capture_output=True, timeout=300)
        if done.returncode != 0 or not done.stdout:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout.splitlines()[0])

    def llama(self, vocabulary, pre, texts, special=False):
        path = self.folder / "vocabulary.gguf"
        vocabulary_file.write(path, vocabulary, pre)
        answer = self.node(HERE.parent / "peers/tokens.mjs", self.modules,
                           request={"file": str(path), "texts": texts, "special": special})
        if "error" in answer:
            raise RuntimeError(f"{pre}: {answer['error']}")
        return answer["ids"]

    def hugging_face(self, vocabulary, pre, texts):
        script = self.folder / "tokenize.mjs"
        script.write_text(HUGGING_FACE % self.modules)
        return self.node(script, request={"json": tokenizer_json(vocabulary, pre), "texts": texts})


def ids_of(processor):
    return [processor.encode(text) for text in tokenizer_texts.TEXTS]


def choose(name, first, second, exceptions=()):
    """`first`, but `second` for the texts in `exceptions`. That both agree elsewhere is checked."""
    for text, a, b in zip(ALL, first, second):
        if (a == b) == (text in exceptions):
            raise SystemExit(f"{name}: {text!r}: {a} and {b}")
    return [b if text in exceptions else a for text, a, b in zip(ALL, first, second)]


# llama.cpp knows two cases in ASCII only, and takes marks for signs.
CASES_AND_MARKS = [text for text in ALL if any(part in text for part in (
    "समुद्र", "ประภาคาร", "e\u0301"))]
# JavaScript's Digits are the decimal ones; the models' are all of category N.
LETTER_NUMBERS = ["Ⅳ ⅷ ①②③"]
# llama.cpp finds what begins a word inside of it.
MARK_INSIDE = ["\u2581x\u2581\u2581y"]
LONG_WORDS = ["ab" * 60, "a" * 99 + " " + "a" * 100 + " " + "a" * 101]  # it has no limit
# Several ways are as good: SentencePiece adds up in single precision, llama.cpp and Hugging Face in double.
TIES = [text for text in ALL if len(text) >= 40 and len(set(text) - {" "}) == 1]


def bpe_cases(peers):
    vocabulary = bpe_vocabulary()
    for pre in PRE_TOKENIZERS:
        theirs = peers.hugging_face(vocabulary, pre, ALL)
        special = None
        if pre != "deepseek-llm":  # llama.cpp does not cut digits there; no merge of its vocabulary joins them
            llama = peers.llama(vocabulary, pre, ALL)
            special = peers.llama(vocabulary, pre, tokenizer_texts.MARKED, special=True)
            differ = CASES_AND_MARKS if pre in ("gpt-4o", "tekken") else ()
            if pre == "smollm":
                theirs = choose(pre, llama, theirs, LETTER_NUMBERS) and llama
            else:
                choose(pre, theirs, llama, differ)
        yield pre, "bytes", vocabulary, pre, theirs, special
    vocabulary = character_vocabulary()
    theirs = choose("gemma4", peers.llama(vocabulary, "gemma4", ALL), peers.hugging_face(vocabulary, "gemma4", ALL))
    special = peers.llama(vocabulary, "gemma4", tokenizer_texts.MARKED, special=True)
    yield "gemma4", "characters", vocabulary, "gemma4", theirs, special


def sentence_cases(peers):
    common = {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1}
    plain = {**common, "normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    made = {
        "llama": ("llama", {**plain, "model_type": "bpe", "byte_fallback": True, "vocab_size": 700}),
        "gemma": ("llama", {**plain, "model_type": "bpe", "byte_fallback": True, "vocab_size": 720,
                            "add_dummy_prefix": False}),
        "t5": ("t5", {**common, "model_type": "unigram", "normalization_rule_name": "nmt_nfkc", "vocab_size": 400}),
    }
    for name, (model, options) in made.items():
        vocabulary, processor = sentence_vocabulary(model, **options)
        # Tokens that are taken whole stand apart in files, as llama.cpp has them; SentencePiece does not know them here.
        llama = peers.llama(vocabulary, "default", ALL)
        theirs = ids_of(processor)
        ties = TIES if model == "t5" else ()
        choose(name, *([[] if text in ties else i for text, i in zip(ALL, ids)] for ids in (llama, theirs)))
        special = peers.llama(vocabulary, "default", tokenizer_texts.MARKED, special=True)
        yield name, name, vocabulary, "default", llama, special
    # What llama.cpp does not have: SentencePiece alone.
    alone = {
        "llama-unknown": ("llama", {**plain, "model_type": "bpe", "vocab_size": 420}),
        "llama-folding": ("llama", {**common, "model_type": "bpe", "normalization_rule_name": "identity",
                                    "byte_fallback": True, "vocab_size": 660}),
        "t5-bytes": ("t5", {**plain, "model_type": "unigram", "byte_fallback": True, "vocab_size": 560}),
    }
    for name, (model, options) in alone.items():
        vocabulary, processor = sentence_vocabulary(model, **options)
        ids = ids_of(processor)
        if model == "t5":
            ids = [None if text in TIES else i for text, i in zip(ALL, ids)]
        yield name, name, vocabulary, "default", ids, None
    vocabulary, processor = sentence_vocabulary("llama", **made["llama"][1])
    kept = [t for i, t in enumerate(vocabulary["tokens"]) if len(t) == 1 or i % 3]
    processor.set_vocabulary(kept)
    vocabulary["types"] = [UNUSED if kind == NORMAL and processor.is_unused(i) else kind
                           for i, kind in enumerate(vocabulary["types"])]
    yield "llama-unused", "llama-unused", vocabulary, "default", ids_of(processor), None


def bert_cases(peers):
    for name, words, keys in (("bert", WORDS, {}), ("bert-cased", CASED, {"normalizer.lowercase": False})):
        own = bert_vocabulary(words, phantom=False)
        phantom = bert_vocabulary(words, phantom=True, **keys)
        theirs = peers.hugging_face(own, None, ALL)
        choose(name, theirs, peers.llama(phantom, "default", ALL), MARK_INSIDE + LONG_WORDS)
        special = peers.llama(phantom, "default", tokenizer_texts.MARKED, special=True)
        yield name, name, phantom, "default", theirs, special
        yield name + "-own-form", name + "-own-form", own, "", theirs, None


def main():
    result = {"texts": ALL, "marked": tokenizer_texts.MARKED, "vocabularies": {}, "cases": []}
    with tempfile.TemporaryDirectory() as folder:
        peers = Peers(sys.argv[1], folder)
        for make in (bpe_cases, sentence_cases, bert_cases):
            for name, key, vocabulary, pre, ids, special in make(peers):
                result["vocabularies"][key] = vocabulary
                case = {"name": name, "vocabulary": key, "pre": pre, "ids": ids}
                if special is not None:
                    case["special"] = special
                result["cases"].append(case)
                print(name, len(vocabulary["tokens"]), "tokens", len(ids), "texts")
    path = HERE / "data/tokenizer_cases.json"
    path.write_text(json.dumps(result, ensure_ascii=False, separators=(",", ":")).replace('"name":', '\n"name":') + "\n")


if __name__ == "__main__":
    main()
