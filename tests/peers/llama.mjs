// Opens a model with llama.cpp, through the node-llama-cpp that peer.py has installed.
import {pathToFileURL} from "node:url";

let started;

/** llama.cpp itself, once. Nothing is downloaded or compiled: without a binary that fits, this throws. */
function start(modules, threads) {
    started ??= import(pathToFileURL(`${modules}/node-llama-cpp/dist/index.js`).href).then(
        ({getLlama, LlamaLogLevel}) => getLlama({
            gpu: false, build: "never", skipDownload: true, maxThreads: threads, progressLogs: false,
            logLevel: LlamaLogLevel.error
        }));
    return started;
}

/**
 * A context for one sequence on the CPU: keys and values in `kv`, no flash attention, the prompt in one batch.
 */
export async function open(modules, file, {threads, context, kv = "F16"}) {
    const llama = await start(modules, threads);
    const model = await llama.loadModel({modelPath: file, gpuLayers: 0});
    const size = Math.min(context, model.trainContextSize);
    const state = await model.createContext({
        contextSize: size, batchSize: size, threads, sequences: 1, flashAttention: false,
        experimentalKvCacheKeyType: kv, experimentalKvCacheValueType: kv,
        batching: {dispatchSchedule: (dispatch) => dispatch()}
    });
    return {model, context: state, sequence: state.getSequence()};
}
