#include "engine/ir/attribute.h"

namespace inferd::engine {

absl::string_view AttributeKindName(const AttributeValue& value) {
  static constexpr absl::string_view kNames[] = {"int",     "float",   "string", "tensor",
                                                 "graph",   "type",    "ints",   "floats",
                                                 "strings", "tensors", "graphs"};
  static_assert(std::size(kNames) == std::variant_size_v<AttributeValue>);
  return kNames[value.index()];
}

const AttributeValue* Attributes::Find(absl::string_view name) const {
  auto it = values_.find(name);
  return it == values_.end() ? nullptr : &it->second;
}

void Attributes::Set(std::string name, AttributeValue value) {
  values_.insert_or_assign(std::move(name), std::move(value));
}

void Attributes::Erase(absl::string_view name) {
  if (auto it = values_.find(name); it != values_.end()) values_.erase(it);
}

int64_t Attributes::GetInt(absl::string_view name, int64_t default_value) const {
  const int64_t* v = Get<int64_t>(name);
  return v == nullptr ? default_value : *v;
}

float Attributes::GetFloat(absl::string_view name, float default_value) const {
  const float* v = Get<float>(name);
  return v == nullptr ? default_value : *v;
}

std::string Attributes::GetString(absl::string_view name, absl::string_view default_value) const {
  const std::string* v = Get<std::string>(name);
  return v == nullptr ? std::string(default_value) : *v;
}

std::vector<int64_t> Attributes::GetInts(absl::string_view name) const {
  const auto* v = Get<std::vector<int64_t>>(name);
  return v == nullptr ? std::vector<int64_t>() : *v;
}

std::vector<float> Attributes::GetFloats(absl::string_view name) const {
  const auto* v = Get<std::vector<float>>(name);
  return v == nullptr ? std::vector<float>() : *v;
}

std::vector<std::string> Attributes::GetStrings(absl::string_view name) const {
  const auto* v = Get<std::vector<std::string>>(name);
  return v == nullptr ? std::vector<std::string>() : *v;
}

}  // namespace inferd::engine
