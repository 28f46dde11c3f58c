// llama.mjs MODULES FILE THREADS: llama.cpp's speed, asked for in JSON lines on standard input.
// {prompt, decode}: the answer is {prompt, decode} in tokens a second. As `tacet bench` measures: a prompt of that many
// tokens in one call, then as many calls of one token, no sampler, each in an empty context.
import {createInterface} from "node:readline";
import {open} from "../../tests/peers/llama.mjs";

const [modules, file, threads] = process.argv.slice(2);
const {model, sequence} = await open(modules, file, {threads: Number(threads), context: 1024});
const vocabulary = model.fileInfo.metadata.tokenizer.ggml.tokens.length;

// Spread over the vocabulary; which ones they are does not change the work.
function someTokens(count) {
    return Array.from({length: count}, (_, i) => (i * 7919 + 13) % vocabulary);
}

async function speed(count, rows) {
    await sequence.clearHistory();
    const tokens = someTokens(count);
    const begin = performance.now();
    for (let i = 0; i < count; i += rows)
        await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(i, i + rows));
    return count * 1000 / (performance.now() - begin);
}

for await (const line of createInterface({input: process.stdin})) {
    const {prompt, decode} = JSON.parse(line);
    console.log(JSON.stringify({prompt: await speed(prompt, prompt), decode: await speed(decode, 1)}));
}
process.exit(0);
