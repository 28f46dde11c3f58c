// perplexity.mjs MODULES FILE THREADS: the perplexity of texts by llama.cpp, asked for in JSON lines on standard input.
// {text, size, chunks}: the text in chunks of `size` tokens, each read anew; the tokens of its second half count, given
// all before them. The answer is {perplexity, tokens}.
import {createInterface} from "node:readline";
import {open} from "./llama.mjs";

const [modules, file, threads] = process.argv.slice(2);
const {model, sequence} = await open(modules, file, {threads: Number(threads), context: 512});
const generateNext = {logits: true, options: {temperature: 0}};

function logProbability(logits, token) {
    let sum = 0;
    for (const logit of logits.values()) sum += Math.exp(logit);
    return logits.get(token) - Math.log(sum);
}

async function perplexity({text, size, chunks}) {
    const tokens = model.tokenize(text, true);
    let sum = 0, count = 0;
    for (let at = 0; at < chunks * size; at += size) {
        await sequence.clearHistory();
        const part = tokens.slice(at, at + size);
        const output = await sequence.controlledEvaluate(
            part.map((token, i) => (i >= size / 2 && i + 1 < size ? [token, {generateNext}] : token)));
        for (let i = size / 2; i + 1 < size; ++i, ++count)
            sum -= logProbability(output[i].next.logits, part[i + 1]);
    }
    return {perplexity: Math.exp(sum / count), tokens: count};
}

for await (const line of createInterface({input: process.stdin}))
    console.log(JSON.stringify(await perplexity(JSON.parse(line))));
process.exit(0);
