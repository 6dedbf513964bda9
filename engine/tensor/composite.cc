#include "engine/tensor/composite.h"

#include <memory>
#include <utility>

namespace inferd::engine {

Tensor MakeComposite(Composite composite) {
  auto owner = std::make_shared<Composite>(std::move(composite));
  void* const data = owner.get();
  return Tensor(ElementType::kComposite, Shape{},
                WrapExternalMemory(data, sizeof(Composite), std::move(owner)));
}

const char* CompositeKindName(Composite::Kind kind) {
  switch (kind) {
    case Composite::Kind::kSequence:
      return "sequence";
    case Composite::Kind::kOptional:
      return "optional";
    case Composite::Kind::kMap:
      return "map";
  }
  return "?";
}

}  // namespace inferd::engine
