#include "server/core/allocator_policy.h"

#include <malloc.h>

namespace inferd::server {

void KeepFreedMessageBuffers() {
  constexpr int kMegabyte = 1 << 20;
  // Blocks up to this size come from the heap, not from a mapping of their own.
  mallopt(M_MMAP_THRESHOLD, 32 * kMegabyte);  // glibc's upper bound on 64-bit machines
  mallopt(M_TRIM_THRESHOLD, 512 * kMegabyte);
  mallopt(M_TOP_PAD, 4 * kMegabyte);
}

}  // namespace inferd::server
