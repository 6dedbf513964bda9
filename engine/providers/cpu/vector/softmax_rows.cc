#include "engine/providers/cpu/vector/softmax_rows.h"

#include <cmath>
#include <limits>

namespace inferd::engine::cpu {
namespace {

#define INFERD_ISA_BODY "engine/providers/cpu/vector/softmax_rows-inl.h"
#define INFERD_ISA_TABLE SoftmaxKernels
#include "engine/providers/cpu/vector/each_isa-inl.h"  // NOLINT

}  // namespace

const SoftmaxKernels& BestSoftmax() { return *Supported()[0]; }
const SoftmaxKernels* const* AllSoftmax() { return Supported(); }

}  // namespace inferd::engine::cpu
