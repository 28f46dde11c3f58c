// tokens.mjs MODULES: token ids by llama.cpp, asked for in JSON lines on standard input: {file, texts, special}. The
// answer is {ids}, or {error} if llama.cpp does not load the file.
import {createInterface} from "node:readline";
import {pathToFileURL} from "node:url";

const {getLlama, LlamaLogLevel} = await import(pathToFileURL(`${process.argv[2]}/node-llama-cpp/dist/index.js`).href);
const llama = await getLlama({
    gpu: false, build: "never", skipDownload: true, progressLogs: false, logLevel: LlamaLogLevel.disabled
});

async function ids({file, texts, special}) {
    const model = await llama.loadModel({modelPath: file, gpuLayers: 0, vocabOnly: true});
    const found = texts.map((text) => [...model.tokenize(text, special ?? false)]);
    await model.dispose();
    return {ids: found};
}

for await (const line of createInterface({input: process.stdin})) {
    const answer = await ids(JSON.parse(line)).catch((error) => ({error: String(error)}));
    console.log(JSON.stringify(answer));
}
process.exit(0);
