// logits.mjs MODULES: logits and greedy tokens by llama.cpp, asked for in JSON lines on standard input: {file, steps,
// prompts}. The answer is, for each list of tokens in `prompts`, {logits, greedy}: all logits behind it and behind each of
// the `steps` greedy tokens.
import {createInterface} from "node:readline";
import {open} from "./llama.mjs";

const modules = process.argv[2];
const generateNext = {logits: true, options: {temperature: 0}};

async function answer(sequence, prompt, steps) {
    await sequence.clearHistory();
    const logits = [], greedy = [];
    for (let more = prompt; ; more = [greedy.at(-1)]) {
        const output = await sequence.controlledEvaluate([...more.slice(0, -1), [more.at(-1), {generateNext}]]);
        const found = output.at(-1).next.logits;
        const row = new Array(found.size);
        for (const [token, logit] of found) row[token] = logit;
        logits.push(row);
        if (greedy.length === steps) return {logits, greedy};
        greedy.push(row.indexOf(Math.max(...row)));
    }
}

for await (const line of createInterface({input: process.stdin})) {
    const {file, steps, prompts} = JSON.parse(line);
    const {model, sequence} = await open(modules, file, {threads: 1, context: 512, kv: "F32"});
    const answers = [];
    for (const prompt of prompts) answers.push(await answer(sequence, prompt, steps));
    await model.dispose();
    console.log(JSON.stringify(answers));
}
process.exit(0);
