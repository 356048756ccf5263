// Where the headers of MXNet's class operators lie.
#pragma once

#include "jit/compile.h"

namespace tarsia::jit {

/// Adds the folders of the headers to those of a request whose texts, or the headers in its folders, include
/// one of them. It looks into 100 headers at most, those that the texts themselves include first: a large
/// library's have thousands. They come last, so the author's own headers of these names count. If one of the
/// request's files is a CUDA source, all of them see MXNET_USE_CUDA=1, as in MXNet's own build.
void add_class_op_folders(CompileRequest& request);

}  // namespace tarsia::jit
