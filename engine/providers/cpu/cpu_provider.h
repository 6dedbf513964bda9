// The CPU execution provider: oneDNN and own kernels first, then the reference kernels.
#pragma once

#include "engine/kernel/kernel.h"

namespace inferd::engine {

// All candidates. Lives for the whole process.
const ExecutionProvider& CpuProvider();
// Reference kernels only: what `eager` models run on.
const ExecutionProvider& ReferenceProvider();

}  // namespace inferd::engine
