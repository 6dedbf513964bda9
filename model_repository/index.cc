#include "model_repository/index.h"

#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace inferd::repository {
namespace {

absl::Status NotReady(absl::string_view name, const ModelView::Version& version) {
  return absl::UnavailableError(absl::StrCat(
      "Request for unknown model: '", name, "' version ", version.number,
      " is not at ready state: ",
      version.reason.empty() ? ModelStateName(version.state) : absl::string_view(version.reason)));
}

absl::StatusOr<std::shared_ptr<const ModelVersion>> FindIn(const IndexSnapshot& snapshot,
                                                           absl::string_view name,
                                                           absl::string_view version) {
  int64_t number = 0;
  if (!version.empty() && (version.find_first_not_of("0123456789") != absl::string_view::npos ||
                           !absl::SimpleAtoi(version, &number))) {
    return absl::InvalidArgumentError(
        absl::StrCat("model version is not a number: '", version.substr(0, 64), "'"));
  }
  const auto it = snapshot.find(name);
  if (it == snapshot.end()) {
    return absl::NotFoundError(
        absl::StrCat("Request for unknown model: '", name.substr(0, 256), "' is not found"));
  }
  const ModelView& model = *it->second;
  if (version.empty()) {
    for (auto v = model.versions.rbegin(); v != model.versions.rend(); ++v) {
      if (v->ready != nullptr) return v->ready;
    }
    if (!model.versions.empty()) return NotReady(name, model.versions.back());
    return absl::UnavailableError(absl::StrCat(
        "Request for unknown model: '", name, "' is not at ready state: ",
        model.reason.empty() ? ModelStateName(model.state) : absl::string_view(model.reason)));
  }
  for (const ModelView::Version& v : model.versions) {
    if (v.number != number) continue;
    if (v.ready != nullptr) return v.ready;
    return NotReady(name, v);
  }
  return absl::NotFoundError(
      absl::StrCat("Request for unknown model: '", name, "' version ", number, " is not found"));
}

}  // namespace

PublishedIndex::PublishedIndex() { Swap(std::make_shared<const IndexSnapshot>()); }

void PublishedIndex::Swap(std::shared_ptr<const IndexSnapshot> snapshot) {
  for (Shard& shard : shards_) {
    // Declared first, so that a snapshot that dies here dies after the lock.
    std::shared_ptr<const IndexSnapshot> next = snapshot;
    absl::MutexLock lock(&shard.mu);
    shard.snapshot.swap(next);
  }
}

const PublishedIndex::Shard& PublishedIndex::ShardOfThread() const {
  thread_local const size_t shard =
      std::hash<std::thread::id>()(std::this_thread::get_id()) % kShards;
  return shards_[shard];
}

std::shared_ptr<const IndexSnapshot> PublishedIndex::Get() const {
  const Shard& shard = ShardOfThread();
  absl::MutexLock lock(&shard.mu);
  return shard.snapshot;
}

absl::StatusOr<std::shared_ptr<const ModelVersion>> PublishedIndex::Find(
    absl::string_view name, absl::string_view version) const {
  const Shard& shard = ShardOfThread();
  absl::MutexLock lock(&shard.mu);
  return FindIn(*shard.snapshot, name, version);
}

}  // namespace inferd::repository
