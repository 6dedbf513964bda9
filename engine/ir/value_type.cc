#include "engine/ir/value_type.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace inferd::engine {

std::string Dim::ToString() const {
  if (known()) return absl::StrCat(value_);
  return symbolic() ? symbol_ : "?";
}

std::optional<Shape> SymbolicShape::concrete() const {
  if (!has_rank()) return std::nullopt;
  Shape shape;
  for (const Dim& d : *dims_) {
    if (!d.known()) return std::nullopt;
    shape.push_back(d.value());
  }
  return shape;
}

std::string SymbolicShape::ToString() const {
  if (!has_rank()) return "[...]";
  return absl::StrCat(
      "[",
      absl::StrJoin(*dims_, ",", [](std::string* out, const Dim& d) { out->append(d.ToString()); }),
      "]");
}

std::string ValueType::ToString() const {
  switch (kind) {
    case Kind::kTensor:
      return absl::StrCat(ElementTypeName(element), shape.ToString());
    case Kind::kSequence:
      return absl::StrCat("seq(", inner ? inner->ToString() : "?", ")");
    case Kind::kOptional:
      return absl::StrCat("optional(", inner ? inner->ToString() : "?", ")");
    case Kind::kMap:
      return absl::StrCat("map(", ElementTypeName(element), ",", inner ? inner->ToString() : "?",
                          ")");
  }
  return "?";
}

}  // namespace inferd::engine
