// Image files made by the encoders of the libraries the decoders come from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace inferd::engine {

// Rows from the top, red, green and blue interleaved.
struct Pixels {
  int width;
  int height;
  std::vector<uint8_t> rgb;
};

// A smooth picture of that size with every channel different.
Pixels Gradient(int width, int height);

std::string EncodePng(const Pixels& pixels);
std::string EncodeJpeg(const Pixels& pixels, bool progressive);
std::string EncodeLosslessWebp(const Pixels& pixels);
std::string EncodeLosslessJpeg2000(const Pixels& pixels);
std::string EncodeLzwTiff(const Pixels& pixels);
// Of 24 bits, rows from the bottom.
std::string EncodeBmp(const Pixels& pixels);
std::string EncodePpm(const Pixels& pixels);

// One of each.
std::vector<std::string> EncodeAll(const Pixels& pixels);

}  // namespace inferd::engine
