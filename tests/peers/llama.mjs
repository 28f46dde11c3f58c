// Opens a model with llama.cpp, through the node-llama-cpp that peer.py has installed.
import {pathToFileURL} from "node:url";

/**
 * A context for one sequence on the CPU: keys and values in f16, no flash attention, the prompt in one batch.
 * Nothing is downloaded or compiled: without a binary that fits, this throws.
 */
export async function open(modules, file, {threads, context}) {
    const entry = pathToFileURL(`${modules}/node-llama-cpp/dist/index.js`);
    const {getLlama, LlamaLogLevel} = await import(entry.href);
    const llama = await getLlama({
        gpu: false, build: "never", skipDownload: true, maxThreads: threads, progressLogs: false,
        logLevel: LlamaLogLevel.error
    });
    const model = await llama.loadModel({modelPath: file, gpuLayers: 0});
    const size = Math.min(context, model.trainContextSize);
    const state = await model.createContext({
        contextSize: size, batchSize: size, threads, sequences: 1, flashAttention: false,
        experimentalKvCacheKeyType: "F16", experimentalKvCacheValueType: "F16",
        batching: {dispatchSchedule: (dispatch) => dispatch()}
    });
    return {model, context: state, sequence: state.getSequence()};
}
