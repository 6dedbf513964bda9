#include "server/wire/utf8.h"

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace inferd::server {

bool IsValidUtf8(absl::string_view text) {
  const auto* p = reinterpret_cast<const uint8_t*>(text.data());
  const uint8_t* end = p + text.size();
  auto continuation = [&](int i, uint8_t low = 0x80, uint8_t high = 0xbf) {
    return p[i] >= low && p[i] <= high;
  };
  while (p < end) {
    uint64_t eight;
    if (end - p >= 8 && (std::memcpy(&eight, p, 8), (eight & 0x8080808080808080u) == 0)) {
      p += 8;
      continue;
    }
    const uint8_t lead = *p;
    const int length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (end - p < length) return false;
    switch (length) {
      case 1:
        break;
      case 2:
        if (lead < 0xc2 || !continuation(1)) return false;
        break;
      case 3: {
        // No overlong forms, no surrogates.
        const uint8_t low = lead == 0xe0 ? 0xa0 : 0x80;
        const uint8_t high = lead == 0xed ? 0x9f : 0xbf;
        if (!continuation(1, low, high) || !continuation(2)) return false;
        break;
      }
      default: {
        // Nothing beyond U+10FFFF.
        const uint8_t low = lead == 0xf0 ? 0x90 : 0x80;
        const uint8_t high = lead == 0xf4 ? 0x8f : 0xbf;
        if (lead > 0xf4 || !continuation(1, low, high) || !continuation(2) || !continuation(3)) {
          return false;
        }
      }
    }
    p += length;
  }
  return true;
}

}  // namespace inferd::server
