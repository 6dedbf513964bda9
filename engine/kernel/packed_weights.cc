#include "engine/kernel/packed_weights.h"

#include "absl/strings/str_cat.h"

namespace inferd::engine {

struct PackedWeights::Entry {
  absl::Mutex mutex;
  bool done ABSL_GUARDED_BY(mutex) = false;
  absl::StatusOr<Tensor> packed ABSL_GUARDED_BY(mutex) = absl::UnknownError("not packed");
  // Keeps the address the key was made of from being used by another constant.
  BufferRef source;
};

absl::StatusOr<Tensor> PackedWeights::GetOrPack(const Tensor& source, const std::string& form,
                                                absl::FunctionRef<absl::StatusOr<Tensor>()> pack) {
  const std::string key =
      absl::StrCat(reinterpret_cast<uintptr_t>(source.view().data), "/",
                   static_cast<int>(source.type()), source.shape().ToString(), "/", form);
  std::shared_ptr<Entry> entry;
  {
    absl::MutexLock lock(&mutex_);
    std::shared_ptr<Entry>& slot = entries_[key];
    if (slot == nullptr) {
      slot = std::make_shared<Entry>();
      slot->source = source.buffer();
    }
    entry = slot;
  }
  absl::MutexLock lock(&entry->mutex);
  if (entry->done) return entry->packed;
  entry->packed = pack();
  // A failure is not kept: memory may be there the next time.
  if (!entry->packed.ok()) return entry->packed.status();
  entry->done = true;
  absl::MutexLock total(&mutex_);
  bytes_ += entry->packed->num_bytes();
  return entry->packed;
}

struct PackedWeights::MadeEntry {
  absl::Mutex mutex;
  std::shared_ptr<const void> value ABSL_GUARDED_BY(mutex);
};

absl::StatusOr<std::shared_ptr<const void>> PackedWeights::GetOrMake(
    const std::string& key, absl::FunctionRef<absl::StatusOr<std::shared_ptr<const void>>()> make) {
  std::shared_ptr<MadeEntry> entry;
  {
    absl::MutexLock lock(&mutex_);
    std::shared_ptr<MadeEntry>& slot = made_[key];
    if (slot == nullptr) slot = std::make_shared<MadeEntry>();
    entry = slot;
  }
  absl::MutexLock lock(&entry->mutex);
  if (entry->value != nullptr) return entry->value;
  absl::StatusOr<std::shared_ptr<const void>> made = make();
  if (made.ok()) entry->value = *made;
  return made;
}

size_t PackedWeights::bytes() const {
  absl::MutexLock lock(&mutex_);
  return bytes_;
}

}  // namespace inferd::engine
