// The body of vector/nibbles.h, included once per instruction set by nibbles.cc. As in
// kernels-inl.h nothing here may be an inline function that the linker could share.
namespace INFERD_ISA {

typedef float Vector8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int Words8 __attribute__((vector_size(32), aligned(1), may_alias));

static float DotNibbles(const float* x, const uint8_t* weights, const float* scales,
                        int64_t chunks, int64_t block) {
  Vector8 total = {};
  for (int64_t c = 0; c < chunks; ++c, weights += 32, x += 64) {
    const Words8 words = *reinterpret_cast<const Words8*>(weights);
    Vector8 even = {}, odd = {};
    INFERD_UNROLL for (int j = 0; j < 8; j += 2) {
      const Words8 a = (words >> (4 * j)) & 15, b = (words >> (4 * j + 4)) & 15;
      even += __builtin_convertvector(a, Vector8) * *reinterpret_cast<const Vector8*>(x + 8 * j);
      odd +=
          __builtin_convertvector(b, Vector8) * *reinterpret_cast<const Vector8*>(x + 8 * j + 8);
    }
    even += odd;
    // Lane l holds weights 8 * l to 8 * l + 7 of the chunk.
    if (block >= 64) {
      total += even * scales[c * 64 / block];
    } else if (block == 32) {
      const float s = scales[2 * c], t = scales[2 * c + 1];
      total += even * Vector8{s, s, s, s, t, t, t, t};
    } else {
      const float* s = scales + 4 * c;
      total += even * Vector8{s[0], s[0], s[1], s[1], s[2], s[2], s[3], s[3]};
    }
  }
  float lanes[8];
  __builtin_memcpy(lanes, &total, sizeof(lanes));
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

}  // namespace INFERD_ISA
