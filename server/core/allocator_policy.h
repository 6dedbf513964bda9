// How the process's allocator treats blocks of the size of a message.
#pragma once

namespace inferd::server {

// Keeps freed message buffers in the heap instead of giving them back to the kernel: with glibc's
// defaults every large message pays for fresh pages, which costs more than parsing it. Call once,
// before threads start. The heap stays at its peak size; malloc_trim gives it back.
void KeepFreedMessageBuffers();

}  // namespace inferd::server
