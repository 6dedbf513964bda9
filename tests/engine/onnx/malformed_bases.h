// The models malformed_mutations*.cc break.
#pragma once

#include <string>
#include <vector>

namespace inferd::engine {

struct MalformedBase {
  const char* name;
  std::string text;  // for ModelBytes
};
std::vector<MalformedBase> MalformedBases();

}  // namespace inferd::engine
