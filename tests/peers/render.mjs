// render.mjs MODULES: texts by @huggingface/jinja, asked for in JSON lines on standard input: {template, context}. The
// answer is {text}, or {error}. The date is the one of text/make_jinja_cases.py.
import {createInterface} from "node:readline";
import {pathToFileURL} from "node:url";

const System = Date;
globalThis.Date = class extends System {
    constructor(...given) {
        super(...(given.length > 0 ? given : [2026, 2, 4, 15, 6, 7]));
    }
};
const {Template} = await import(pathToFileURL(`${process.argv[2]}/@huggingface/jinja/dist/index.js`).href);

for await (const line of createInterface({input: process.stdin})) {
    const {template, context} = JSON.parse(line);
    let answer;
    try {
        answer = {text: new Template(template).render(context)};
    } catch (error) {
        answer = {error: String(error)};
    }
    console.log(JSON.stringify(answer));
}
process.exit(0);
