#include "engine/providers/cpu/vector/transpose_tiles.h"

namespace inferd::engine::cpu {
namespace {

#define INFERD_ISA_BODY "engine/providers/cpu/vector/transpose_tiles-inl.h"
#define INFERD_ISA_TABLE TransposeKernels
#include "engine/providers/cpu/vector/each_isa-inl.h"  // NOLINT

}  // namespace

const TransposeKernels& BestTranspose() { return *Supported()[0]; }
const TransposeKernels* const* AllTranspose() { return Supported(); }

}  // namespace inferd::engine::cpu
