// The product of packed 4-bit weights with a vector, compiled for several instruction sets.
#pragma once

#include <cstdint>

namespace inferd::engine::cpu {

// A row of 4-bit weights, low bits first, times a vector:
//   sum over i < 64 * chunks of x(i) * (weight i - zeros[i / block]) * scales[i / block]
// for block 16, 32 or a multiple of 64. x lies in the order of the weights' bits: in each chunk of
// 64 element 8 * j + l is x(8 * l + j), so that 32-bit words of weights are shifted alike.
using DotNibblesLoop = float (*)(const float* x, const uint8_t* weights, const float* scales,
                                 const float* zeros, int64_t chunks, int64_t block);

// The best loop for this CPU.
DotNibblesLoop DotNibbles();

}  // namespace inferd::engine::cpu
