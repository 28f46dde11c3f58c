#!/usr/bin/env python3
"""kernels.py FOLDER: what the compiler made of the kernels in a build's folder of CUDA modules.

Kernels that are to multiply on tensor cores have their instructions (FOLDER/MODULE.fatbin.ptx), and no kernel spills more
registers than is known of its module (FOLDER/MODULE.fatbin.log, as ptxas -v says). The last line counts the kernels.
"""

import re
import sys
from pathlib import Path

# Bytes of spill stores that a kernel of a module may have at most, where that is not 0.
SPILLS = {"f16": 120, "bf16": 120, "q5_1": 64, "q5_K": 16}

HALVES = r"mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.f16\.f16\.f32|wgmma\.mma_async\S*\.f32\.f16\.f16"
BF16 = HALVES.replace("f16", "bf16")
# What a kernel of a module is to contain, and the kernels that are to.
PRODUCTS = r"(one|few|many)(_\w+)?"
TENSOR_CORES = {
    **dict.fromkeys(("q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq4_nl", "iq4_xs",
                     "mxfp4"), (PRODUCTS, HALVES)),
    "f16": (PRODUCTS, HALVES),
    "bf16": (PRODUCTS, BF16),
    "attention_halves": (r"\w+", HALVES),
    "attention_coded": (r"\w+", HALVES),
}


def spills(log):
    """(kernel, architecture, bytes of spill stores) of all that ptxas compiled."""
    found = re.findall(r"Compiling entry function '(\w+)' for '(\w+)'\n.*Function properties for \1\n"
                       r" +\d+ bytes stack frame, (\d+) bytes spill stores", log)
    return [(kernel, architecture, int(stores)) for kernel, architecture, stores in found]


def bodies(ptx):
    """The text of each kernel by its name."""
    parts = re.split(r"\.visible \.entry (\w+)\(", ptx)
    return dict(zip(parts[1::2], parts[2::2]))


def check(module, log, ptx):
    """(kernels seen, what is wrong)."""
    problems = []
    bound = SPILLS.get(module, 0)
    compiled = spills(log)
    kernels = bodies(ptx)
    if {kernel for kernel, *_ in compiled} != set(kernels):
        problems.append(f"{module}: the kernels of the log and of the PTX differ")
    for kernel, architecture, stores in compiled:
        if stores > bound:
            problems.append(f"{module}: {kernel} for {architecture} spills {stores} bytes, at most {bound} are known")
    meant, instructions = TENSOR_CORES.get(module, (None, None))
    if meant:
        products = [kernel for kernel in kernels if re.fullmatch(meant, kernel)]
        if not products:
            problems.append(f"{module}: has no kernel for tensor cores")
        problems += [f"{module}: {kernel} does not use tensor cores as it should ({instructions})"
                     for kernel in products if not re.search(instructions, kernels[kernel])]
    return len(compiled), problems


def main():
    folder = Path(sys.argv[1])
    names = {path.name.removesuffix(".fatbin") for path in folder.glob("*.fatbin")}
    problems = [f"{name}: there is no such module" for name in sorted((TENSOR_CORES.keys() | SPILLS.keys()) - names)]
    seen = 0
    for name in sorted(names):
        image = folder / f"{name}.fatbin"
        count, wrong = check(name, Path(f"{image}.log").read_text(), Path(f"{image}.ptx").read_text())
        seen += count
        problems += wrong
    print("\n".join(problems) or f"{len(names)} modules are as they should be")
    print(f"{seen - min(seen, len(problems))} passed, {len(problems)} failed")
    return 1 if problems or not seen else 0


sys.exit(main())
