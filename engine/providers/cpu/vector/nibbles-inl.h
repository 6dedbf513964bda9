// The body of vector/nibbles.h, included once per instruction set by nibbles.cc. As in
// kernels-inl.h nothing here may be an inline function that the linker could share.
namespace INFERD_ISA {

typedef float Vector8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int Words8 __attribute__((vector_size(32), aligned(1), may_alias));

// Lane l of a chunk stands for weights 8 * l to 8 * l + 7: *lanes is their value in `of`, one per
// block.
static inline __attribute__((always_inline)) void PerLane(const float* of, int64_t chunk,
                                                          int64_t block, Vector8* lanes) {
  if (block >= 64) {
    const float a = of[chunk * 64 / block];
    *lanes = Vector8{a, a, a, a, a, a, a, a};
  } else if (block == 32) {
    const float a = of[2 * chunk], b = of[2 * chunk + 1];
    *lanes = Vector8{a, a, a, a, b, b, b, b};
  } else {
    const float* v = of + 4 * chunk;
    *lanes = Vector8{v[0], v[0], v[1], v[1], v[2], v[2], v[3], v[3]};
  }
}

static float DotNibbles(const float* x, const uint8_t* weights, const float* scales,
                        const float* zeros, int64_t chunks, int64_t block) {
  Vector8 total = {};
  for (int64_t c = 0; c < chunks; ++c, weights += 32, x += 64) {
    const Words8 words = *reinterpret_cast<const Words8*>(weights);
    Vector8 zero, scale;
    PerLane(zeros, c, block, &zero);
    PerLane(scales, c, block, &scale);
    Vector8 even = {}, odd = {};
    INFERD_UNROLL for (int j = 0; j < 8; j += 2) {
      const Words8 a = (words >> (4 * j)) & 15, b = (words >> (4 * j + 4)) & 15;
      even += (__builtin_convertvector(a, Vector8) - zero) *
              *reinterpret_cast<const Vector8*>(x + 8 * j);
      odd += (__builtin_convertvector(b, Vector8) - zero) *
             *reinterpret_cast<const Vector8*>(x + 8 * j + 8);
    }
    total += (even + odd) * scale;
  }
  float lanes[8];
  __builtin_memcpy(lanes, &total, sizeof(lanes));
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

}  // namespace INFERD_ISA
