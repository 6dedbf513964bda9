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

namespace {

SymbolicShape CommonShape(const SymbolicShape& a, const SymbolicShape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return {};
  SymbolicShape common = SymbolicShape::OfRank(a.rank());
  for (int i = 0; i < a.rank(); ++i) {
    if (a[i] == b[i]) common[i] = a[i];
  }
  return common;
}

}  // namespace

ValueType CommonType(const ValueType& a, const ValueType& b) {
  const auto unknown = [](const ValueType& t) {
    return t.is_tensor() && t.element == ElementType::kUndefined;
  };
  if (unknown(a) || unknown(b)) {
    ValueType known = unknown(a) ? b : a;
    if (known.is_tensor()) known.shape = {};
    return known;
  }
  ValueType common = a;
  if (a.kind != b.kind || a.element != b.element) return {};
  common.shape = CommonShape(a.shape, b.shape);
  if (a.inner != nullptr && b.inner != nullptr) {
    common.inner = std::make_shared<const ValueType>(CommonType(*a.inner, *b.inner));
  }
  return common;
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
