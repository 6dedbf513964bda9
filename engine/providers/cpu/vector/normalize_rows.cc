#include "engine/providers/cpu/vector/normalize_rows.h"

namespace inferd::engine::cpu {
namespace {

#define INFERD_ISA_BODY "engine/providers/cpu/vector/normalize_rows-inl.h"
#define INFERD_ISA_TABLE NormalizeKernels
#include "engine/providers/cpu/vector/each_isa-inl.h"  // NOLINT

}  // namespace

const NormalizeKernels& BestNormalize() { return *Supported()[0]; }
const NormalizeKernels* const* AllNormalize() { return Supported(); }

}  // namespace inferd::engine::cpu
