// Image files in memory to pixels. Knows nothing of operators or models.
//
// The bytes come from strangers: whatever they are, the answer is pixels or an error, in memory
// bounded by the size of the image, which is bounded itself.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace inferd::engine {

// Pixels of the largest image that is decoded: a file of a few bytes can claim any size, and some
// decoders need several times the memory of the result.
inline constexpr int64_t kMaxImagePixels = int64_t{1} << 26;

// Asks for the memory the pixels go to: 3 * width * height bytes. Called at most once, when the
// size of the image is known and both sides are at least 1.
using AllocatePixels = absl::FunctionRef<absl::StatusOr<uint8_t*>(int64_t width, int64_t height)>;

// Decodes a BMP, JPEG, JPEG 2000, PNG, PNM (PBM, PGM, PPM), TIFF or WebP file, told apart by their
// first bytes. The pixels are red, green and blue, 8 bits each, row after row from the top left.
//
// Gray is shown as equal parts of each colour; samples of more than 8 bits are scaled; alpha is
// dropped, and of several images in a file the first is taken. Orientation tags other than TIFF's
// and colour profiles are not applied.
//
// INVALID_ARGUMENT for what is no such file or is damaged, UNIMPLEMENTED for a kind of such a file
// that is not supported, RESOURCE_EXHAUSTED for more than kMaxImagePixels or where memory is short.
absl::Status DecodeImage(absl::Span<const uint8_t> file, AllocatePixels allocate);

}  // namespace inferd::engine
