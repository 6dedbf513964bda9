// What is known about a value before it exists: its kind, element type and symbolic shape.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/tensor/element_type.h"
#include "engine/tensor/shape.h"

namespace inferd::engine {

// One dimension: a number, a named symbol ("batch"), or unknown. Symbols are advice from the
// exporter: equal names are believed to be equal, real inputs decide.
class Dim {
 public:
  Dim() = default;                       // unknown
  Dim(int64_t value) : value_(value) {}  // NOLINT: numbers are dimensions
  static Dim Symbol(std::string name) {
    Dim d;
    d.symbol_ = std::move(name);
    return d;
  }
  static Dim Unknown() { return {}; }

  bool known() const { return value_ >= 0; }
  bool symbolic() const { return !symbol_.empty(); }
  int64_t value() const { return value_; }  // -1 unless known()
  const std::string& symbol() const { return symbol_; }
  // "3", "batch" or "?".
  std::string ToString() const;
  bool operator==(const Dim&) const = default;

 private:
  int64_t value_ = -1;
  std::string symbol_;
};

// A shape whose rank or dimensions may be unknown.
class SymbolicShape {
 public:
  SymbolicShape() = default;  // unknown rank
  explicit SymbolicShape(std::vector<Dim> dims) : dims_(std::move(dims)) {}
  SymbolicShape(const Shape& shape)  // NOLINT: every concrete shape is a symbolic one
      : dims_(std::vector<Dim>(shape.begin(), shape.end())) {}
  static SymbolicShape OfRank(int rank) { return SymbolicShape(std::vector<Dim>(rank)); }

  bool has_rank() const { return dims_.has_value(); }
  int rank() const { return static_cast<int>(dims_->size()); }  // has_rank() only
  const std::vector<Dim>& dims() const { return *dims_; }
  const Dim& operator[](int i) const { return (*dims_)[i]; }
  Dim& operator[](int i) { return (*dims_)[i]; }
  // The concrete shape when every dimension is known.
  std::optional<Shape> concrete() const;
  // "[batch,3,?,224]"; unknown rank is "[...]".
  std::string ToString() const;
  bool operator==(const SymbolicShape&) const = default;

 private:
  std::optional<std::vector<Dim>> dims_;
};

// The type of a value. Tensors are the common case; the other kinds wrap an inner type.
struct ValueType {
  enum class Kind : uint8_t { kTensor, kSequence, kOptional, kMap };

  Kind kind = Kind::kTensor;
  ElementType element = ElementType::kUndefined;  // tensor: of elements; map: of keys
  SymbolicShape shape;                            // tensor only
  std::shared_ptr<const ValueType> inner;         // sequence, optional: element; map: value

  static ValueType TensorOf(ElementType e, SymbolicShape s = {}) {
    return {Kind::kTensor, e, std::move(s), nullptr};
  }
  static ValueType SequenceOf(ValueType element) {
    return {Kind::kSequence,
            ElementType::kUndefined,
            {},
            std::make_shared<const ValueType>(std::move(element))};
  }
  static ValueType OptionalOf(ValueType value) {
    return {Kind::kOptional,
            ElementType::kUndefined,
            {},
            std::make_shared<const ValueType>(std::move(value))};
  }
  static ValueType MapOf(ElementType key, ValueType value) {
    return {Kind::kMap, key, {}, std::make_shared<const ValueType>(std::move(value))};
  }
  bool is_tensor() const { return kind == Kind::kTensor; }
  bool is_sequence() const { return kind == Kind::kSequence; }
  bool is_optional() const { return kind == Kind::kOptional; }
  // "float[batch,3]", "seq(float[?])", "map(int64,float[...])".
  std::string ToString() const;
};

// What is true of a value that has one of two types: what both agree on. Unknown parts of one give
// way to those of the other only where `element` types are concerned; a dimension or rank that
// differs or is unknown in one is unknown.
ValueType CommonType(const ValueType& a, const ValueType& b);

}  // namespace inferd::engine
