// greedy.mjs MODULES FILE THREADS: greedy tokens by llama.cpp, asked for in JSON lines on standard input.
// {prompt, after, steps}: up to `steps` tokens behind the text `prompt` and the tokens `after`. The answer is {prompt,
// text, steps}: the prompt's tokens, the text behind it, and for each step the best four as [token, gap]: how far its
// logit is below the best one. A token that ends the answer is null, and the last.
// {text}: the tokens of a text.
import {createInterface} from "node:readline";
import {open} from "./llama.mjs";

const [modules, file, threads] = process.argv.slice(2);
const {model, sequence} = await open(modules, file, {threads: Number(threads), context: 512});
const generateNext = {logits: {filter: {tokens: [], includeTop: 4}}, options: {temperature: 0}};

async function next(tokens) {
    const output = await sequence.controlledEvaluate([...tokens.slice(0, -1), [tokens.at(-1), {generateNext}]]);
    const best = [...output.at(-1).next.logits].sort((a, b) => b[1] - a[1]);
    return best.map(([token, logit]) => [model.isEogToken(token) ? null : token, best[0][1] - logit]);
}

async function greedy({prompt, after, steps}) {
    await sequence.clearHistory();
    const tokens = model.tokenize(prompt, true);
    if (model.tokens.shouldPrependBosToken && tokens[0] !== model.tokens.bos)
        tokens.unshift(model.tokens.bos);
    const found = [];
    const answer = [...after];
    let more = [...tokens, ...after];
    while (found.length < steps) {
        found.push(await next(more));
        const token = found.at(-1)[0][0];
        if (token == null) break;
        answer.push(token);
        more = [token];
    }
    return {prompt: tokens, steps: found, text: model.detokenize(answer)};
}

for await (const line of createInterface({input: process.stdin})) {
    const request = JSON.parse(line);
    const answer = request.text == null ? await greedy(request) : {tokens: model.tokenize(request.text, false)};
    console.log(JSON.stringify(answer));
}
process.exit(0);
