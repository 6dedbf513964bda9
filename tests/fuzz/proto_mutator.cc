#include "tests/fuzz/proto_mutator.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <iterator>
#include <limits>
#include <string>
#include <vector>

namespace inferd::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Every message of the tree, and every string in it.
struct Tree {
  std::vector<Message*> messages;
  std::vector<std::string> strings;
};

void Collect(Message& message, Tree& tree) {
  tree.messages.push_back(&message);
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        Collect(field->is_repeated() ? *reflection->MutableRepeatedMessage(&message, field, i)
                                     : *reflection->MutableMessage(&message, field),
                tree);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        tree.strings.push_back(field->is_repeated()
                                   ? reflection->GetRepeatedString(message, field, i)
                                   : reflection->GetString(message, field));
      }
    }
  }
}

class FieldMutator {
 public:
  FieldMutator(const Tree& tree, std::mt19937_64& random) : tree_(tree), random_(random) {}

  void Mutate(Message& message) {
    const Reflection* reflection = message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(message, &fields);
    if (fields.empty()) return;
    const FieldDescriptor* field = fields[Below(fields.size())];
    if (!field->is_repeated()) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE || Below(8) == 0) {
        if (Below(4) == 0) reflection->ClearField(&message, field);
        return;
      }
      SetScalar(message, field, -1);
      return;
    }
    MutateList(message, field);
  }

 private:
  size_t Below(size_t bound) { return random_() % bound; }

  void MutateList(Message& message, const FieldDescriptor* field) {
    const Reflection* reflection = message.GetReflection();
    const int count = reflection->FieldSize(message, field);
    const int at = static_cast<int>(Below(static_cast<size_t>(count)));
    const int other = static_cast<int>(Below(static_cast<size_t>(count)));
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    switch (Below(4)) {
      case 0:
        reflection->SwapElements(&message, field, at, count - 1);
        reflection->RemoveLast(&message, field);
        return;
      case 1:
        reflection->SwapElements(&message, field, at, other);
        return;
      case 2:
        if (is_message) {
          // A copy first: adding may move the list the original lives in.
          std::string bytes;
          reflection->GetRepeatedMessage(message, field, at).SerializePartialToString(&bytes);
          reflection->AddMessage(&message, field)->ParsePartialFromString(bytes);
        } else {
          SetScalar(message, field, count);
        }
        return;
      default:
        if (!is_message) SetScalar(message, field, at);
        return;
    }
  }

  int64_t EdgeNumber() {
    constexpr int64_t kEdges[] = {0,
                                  1,
                                  2,
                                  3,
                                  -1,
                                  -2,
                                  4,
                                  7,
                                  100,
                                  int64_t{1} << 31,
                                  (int64_t{1} << 31) - 1,
                                  -(int64_t{1} << 31),
                                  int64_t{1} << 40,
                                  std::numeric_limits<int64_t>::max(),
                                  std::numeric_limits<int64_t>::min()};
    return Below(3) == 0 ? static_cast<int64_t>(Below(30)) : kEdges[Below(std::size(kEdges))];
  }

  std::string AnyString() {
    if (tree_.strings.empty() || Below(8) == 0) return std::string(Below(9), 'q');
    return tree_.strings[Below(tree_.strings.size())];
  }

  // `index` -1: a singular field; the size of the list: one more element.
  void SetScalar(Message& message, const FieldDescriptor* field, int index) {
    const Reflection* r = message.GetReflection();
    const bool add = index >= 0 && index == r->FieldSize(message, field);
    const auto set = [&](auto value, auto set_one, auto set_at, auto add_one) {
      if (index < 0) {
        (r->*set_one)(&message, field, value);
      } else if (add) {
        (r->*add_one)(&message, field, value);
      } else {
        (r->*set_at)(&message, field, index, value);
      }
    };
    const int64_t number = EdgeNumber();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return set(static_cast<int32_t>(number), &Reflection::SetInt32,
                   &Reflection::SetRepeatedInt32, &Reflection::AddInt32);
      case FieldDescriptor::CPPTYPE_INT64:
        return set(number, &Reflection::SetInt64, &Reflection::SetRepeatedInt64,
                   &Reflection::AddInt64);
      case FieldDescriptor::CPPTYPE_UINT64:
        return set(static_cast<uint64_t>(number), &Reflection::SetUInt64,
                   &Reflection::SetRepeatedUInt64, &Reflection::AddUInt64);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return set(Below(8) == 0 ? std::numeric_limits<float>::quiet_NaN()
                                 : static_cast<float>(number) / 2,
                   &Reflection::SetFloat, &Reflection::SetRepeatedFloat, &Reflection::AddFloat);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return set(static_cast<double>(number) / 2, &Reflection::SetDouble,
                   &Reflection::SetRepeatedDouble, &Reflection::AddDouble);
      case FieldDescriptor::CPPTYPE_STRING:
        return set(AnyString(), &Reflection::SetString, &Reflection::SetRepeatedString,
                   &Reflection::AddString);
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* values = field->enum_type();
        const auto* value = values->value(static_cast<int>(Below(values->value_count())));
        if (index < 0) r->SetEnum(&message, field, value);
        return;
      }
      default:
        return;
    }
  }

  const Tree& tree_;
  std::mt19937_64& random_;
};

}  // namespace

void MutateMessage(Message& message, std::mt19937_64& random) {
  const size_t steps = 1 + random() % 4;
  for (size_t i = 0; i < steps; ++i) {
    Tree tree;
    Collect(message, tree);
    FieldMutator(tree, random).Mutate(*tree.messages[random() % tree.messages.size()]);
  }
}

}  // namespace inferd::fuzz
