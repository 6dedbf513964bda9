#include "engine/ops/index_map_gather.h"

#include <cstring>
#include <utility>

namespace inferd::engine {

IndexMapGather::IndexMapGather(ElementType type, const Shape& x,
                               std::vector<std::vector<int64_t>> maps)
    : type_(type), copier_(type), maps_(std::move(maps)) {
  // A scalar is a vector of one.
  if (maps_.empty()) maps_.push_back({0});
  output_strides_.assign(maps_.size(), 1);
  for (size_t i = maps_.size() - 1; i > 0; --i) {
    output_strides_[i - 1] = output_strides_[i] * static_cast<int64_t>(maps_[i].size());
  }
  for (int64_t source : maps_.back()) {
    const bool extends =
        !segments_.empty() &&
        (source < 0 ? segments_.back().from < 0
                    : segments_.back().from >= 0 &&
                          segments_.back().from + segments_.back().count == source);
    if (extends) {
      ++segments_.back().count;
    } else {
      const int64_t to = segments_.empty() ? 0 : segments_.back().to + segments_.back().count;
      segments_.push_back({source, to, 1});
    }
  }
  const auto strides = RowMajorStrides(x);
  for (size_t i = 0; i + 1 < maps_.size(); ++i) {
    for (int64_t& source : maps_[i]) {
      if (source >= 0) source *= strides[i];
    }
  }
}

void IndexMapGather::Run(const void* x, const void* fill, void* y) const {
  for (const auto& map : maps_) {
    if (map.empty()) return;
  }
  if (ElementBits(type_) < 8) {
    // Elements are written into their bytes one by one; the bits behind the last stay zero.
    const int64_t elements = output_strides_[0] * static_cast<int64_t>(maps_[0].size());
    std::memset(y, 0, ElementBytes(type_, elements));
  }
  RunAxis(0, 0, 0, x, fill, y);
}

void IndexMapGather::RunAxis(size_t axis, int64_t from, int64_t to, const void* x, const void* fill,
                             void* y) const {
  if (axis + 1 == maps_.size()) {
    for (const Segment& s : segments_) {
      if (s.from < 0) {
        copier_.Fill(fill, 0, y, to + s.to, s.count);
      } else {
        copier_.Copy(x, from + s.from, y, to + s.to, s.count);
      }
    }
    return;
  }
  for (const int64_t source : maps_[axis]) {
    if (source < 0) {
      copier_.Fill(fill, 0, y, to, output_strides_[axis]);
    } else {
      RunAxis(axis + 1, from + source, to, x, fill, y);
    }
    to += output_strides_[axis];
  }
}

}  // namespace inferd::engine
