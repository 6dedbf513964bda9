#include "engine/ops/index_tensor.h"

#include "absl/strings/str_cat.h"

namespace inferd::engine {

absl::Status IndexOutOfRange(const char* name, int64_t position, int64_t index, int64_t size) {
  return absl::InvalidArgumentError(absl::StrCat("element ", position, " of input ", name, " is ",
                                                 index, ", expected an index in [", -size, ",",
                                                 size - 1, "]"));
}

}  // namespace inferd::engine
