// Releases responses in the order in which their requests were admitted.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"

namespace inferd::scheduler {

// Items are known by their number of admission. O(log n) per operation. Not thread-safe.
template <typename T>
class ResponseOrder {
 public:
  void Expect(uint64_t number) { items_.emplace(number, Item{}); }
  // The response exists; it leaves when everything admitted before it has left.
  void Ready(uint64_t number, T response) {
    auto it = items_.find(number);
    it->second.ready = true;
    it->second.response = std::move(response);
  }
  // Was answered out of order (cancelled, expired).
  void Forget(uint64_t number) { items_.erase(number); }
  // Moves what may leave now to the end of `released`, in order.
  void Release(std::vector<T>* released) {
    while (!items_.empty() && items_.begin()->second.ready) {
      released->push_back(std::move(items_.begin()->second.response));
      items_.erase(items_.begin());
    }
  }
  // Moves the ready ones out, whatever is before them.
  void ReleaseAll(std::vector<T>* released) {
    for (auto& [number, item] : items_) {
      if (item.ready) released->push_back(std::move(item.response));
    }
    items_.clear();
  }

 private:
  struct Item {
    bool ready = false;
    T response;
  };
  absl::btree_map<uint64_t, Item> items_;
};

}  // namespace inferd::scheduler
