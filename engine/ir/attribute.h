// Attributes of a node, after import: values only, no protobuf.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/string_view.h"
#include "engine/ir/value_type.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

class Graph;

// A subgraph is shared: nothing edits a body in place once it hangs on a node; a pass that
// changes one clones it first.
using AttributeValue =
    std::variant<int64_t, float, std::string, Tensor, std::shared_ptr<Graph>, ValueType,
                 std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
                 std::vector<Tensor>, std::vector<std::shared_ptr<Graph>>>;

// "int", "float", "string", "tensor", "graph", "type", "ints", "floats", ...
absl::string_view AttributeKindName(const AttributeValue& value);

// Name -> value, in name order so that printing is stable. Typed getters return the default
// when the attribute is absent; a value of another kind is caught when the node is checked
// against its operator's schema, before any getter runs.
class Attributes {
 public:
  bool has(absl::string_view name) const { return Find(name) != nullptr; }
  const AttributeValue* Find(absl::string_view name) const;
  void Set(std::string name, AttributeValue value);
  void Erase(absl::string_view name);

  template <typename T>
  const T* Get(absl::string_view name) const {
    const AttributeValue* v = Find(name);
    return v == nullptr ? nullptr : std::get_if<T>(v);
  }
  int64_t GetInt(absl::string_view name, int64_t default_value) const;
  float GetFloat(absl::string_view name, float default_value) const;
  std::string GetString(absl::string_view name, absl::string_view default_value) const;
  // Empty when absent.
  std::vector<int64_t> GetInts(absl::string_view name) const;
  std::vector<float> GetFloats(absl::string_view name) const;
  std::vector<std::string> GetStrings(absl::string_view name) const;

  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool empty() const { return values_.empty(); }

 private:
  absl::btree_map<std::string, AttributeValue, std::less<>> values_;
};

}  // namespace inferd::engine
