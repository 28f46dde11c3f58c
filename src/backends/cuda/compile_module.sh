#!/bin/sh
# compile_module.sh IMAGE NVCC OPTION...: compiles the module IMAGE. Beside it are left, for the test cuda_kernels, what ptxas
# says of its kernels (IMAGE.log) and their PTX for the newest architecture (IMAGE.ptx).
image=$1
shift
rm -rf "$image.kept"
mkdir "$image.kept"
if ! "$@" -Xptxas=-v --keep --keep-dir "$image.kept" -o "$image" >"$image.log" 2>&1; then
  cat "$image.log" >&2
  exit 1
fi
mv "$image.kept"/*.compute_90.ptx "$image.ptx"
rm -r "$image.kept"
