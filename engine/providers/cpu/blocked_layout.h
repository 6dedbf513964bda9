// The one channel-blocked layout of this machine.
#pragma once

#include "engine/tensor/layout.h"

namespace inferd::engine::cpu {

// Channels per block: the width of the widest float vector oneDNN uses here, 16 with AVX-512, else
// 8. Every candidate uses the same, so that no reorder stands between two of them.
int ChannelBlock();

inline Layout BlockedLayout() { return Layout::Blocked(ChannelBlock()); }

}  // namespace inferd::engine::cpu
