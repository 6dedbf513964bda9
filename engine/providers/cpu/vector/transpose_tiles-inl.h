// The bodies of vector/transpose_tiles.h; see each_isa-inl.h. Words move through registers of
// integers: a shuffle never changes a signalling NaN, but nothing here should depend on that.
namespace INFERD_ISA {

#undef INFERD_INLINE
#define INFERD_INLINE static inline __attribute__((always_inline))

#if INFERD_LANES >= 8
constexpr int64_t kTile = 8;
typedef int Words __attribute__((vector_size(32), aligned(4), may_alias));

INFERD_INLINE void Tile(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
  Words a[8], b[8];
  INFERD_UNROLL for (int i = 0; i < 8; ++i) {
    a[i] = *reinterpret_cast<const Words*>(from + i * from_stride);
  }
  // Pairs of rows, then pairs of pairs, within halves of a register; then the halves.
  INFERD_UNROLL for (int i = 0; i < 8; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  INFERD_UNROLL for (int i = 0; i < 8; i += 4) {
    a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    a[i + 1] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    a[i + 2] = __builtin_shufflevector(b[i + 1], b[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    a[i + 3] = __builtin_shufflevector(b[i + 1], b[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  INFERD_UNROLL for (int i = 0; i < 4; ++i) {
    b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    b[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  INFERD_UNROLL for (int i = 0; i < 8; ++i) * reinterpret_cast<Words*>(to + i * to_stride) = b[i];
}
#else
constexpr int64_t kTile = 4;
typedef int Words __attribute__((vector_size(16), aligned(4), may_alias));

INFERD_INLINE void Tile(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
  Words a[4], b[4];
  INFERD_UNROLL for (int i = 0; i < 4; ++i) {
    a[i] = *reinterpret_cast<const Words*>(from + i * from_stride);
  }
  INFERD_UNROLL for (int i = 0; i < 4; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 4, 1, 5);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 6, 3, 7);
  }
  INFERD_UNROLL for (int i = 0; i < 2; ++i) {
    a[2 * i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 4, 5);
    a[2 * i + 1] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 6, 7);
  }
  INFERD_UNROLL for (int i = 0; i < 4; ++i) * reinterpret_cast<Words*>(to + i * to_stride) = a[i];
}
#endif

INFERD_INLINE void Edge(const float* from, int64_t from_stride, float* to, int64_t to_stride,
                        int64_t rows, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) {
      __builtin_memcpy(to + c * to_stride + r, from + r * from_stride + c, sizeof(float));
    }
  }
}

// In strips of a cache line of columns: each line read is used up at once, though its neighbours
// may lie a power of two apart and evict it.
constexpr int64_t kStrip = 16;

static void Transpose(const float* from, int64_t from_stride, float* to, int64_t to_stride,
                      int64_t rows, int64_t columns) {
  const int64_t whole = rows / kTile * kTile;
  for (int64_t strip = 0; strip < columns; strip += kStrip) {
    const int64_t end = columns - strip < kStrip ? columns : strip + kStrip;
    if (end - strip < kTile) {
      // Too few columns for tiles; rows in pieces that stay in the first-level cache.
      for (int64_t r = 0; r < rows; r += 512) {
        Edge(from + r * from_stride + strip, from_stride, to + strip * to_stride + r, to_stride,
             rows - r < 512 ? rows - r : 512, end - strip);
      }
      continue;
    }
    for (int64_t r = 0; r < whole; r += kTile) {
      int64_t c = strip;
      for (; c + kTile <= end; c += kTile) {
        Tile(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
      }
      Edge(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride, kTile,
           end - c);
    }
    Edge(from + whole * from_stride + strip, from_stride, to + strip * to_stride + whole, to_stride,
         rows - whole, end - strip);
  }
}

static constexpr TransposeKernels kKernels = {INFERD_ISA_NAME, Transpose};

#undef INFERD_INLINE

}  // namespace INFERD_ISA
