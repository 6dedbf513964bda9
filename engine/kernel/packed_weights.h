// Constants in the form a kernel wants them, made once and shared by every plan and context.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// Keyed by the source buffer and a string that describes the packed form, such as the bytes of a
// memory descriptor. Thread-safe.
class PackedWeights {
 public:
  // The packed form of `source`, made by `pack` at its first use. Another thread asking for the
  // same key waits for the first.
  absl::StatusOr<Tensor> GetOrPack(const Tensor& source, const std::string& form,
                                   absl::FunctionRef<absl::StatusOr<Tensor>()> pack);
  // Whatever `make` makes for `key` at its first use: see parsed_attributes.h.
  absl::StatusOr<std::shared_ptr<const void>> GetOrMake(
      const std::string& key,
      absl::FunctionRef<absl::StatusOr<std::shared_ptr<const void>>()> make);
  size_t bytes() const;

 private:
  struct Entry;
  struct MadeEntry;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::shared_ptr<MadeEntry>> made_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace inferd::engine
