#include <cctype>
#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/ir/lift_captures.h"
#include "engine/ir/text_format.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Recursive descent over the grammar in text_format.h. Every Parse* leaves the position after
// what it read.
class Parser {
 public:
  Parser(absl::string_view text, const OpRegistry& registry) : text_(text), registry_(registry) {}

  absl::StatusOr<std::unique_ptr<Graph>> ParseGraph() {
    RETURN_IF_ERROR(Expect("graph"));
    ASSIGN_OR_RETURN(const std::string name, Identifier());
    auto graph = std::make_unique<Graph>(name);
    graphs_.push_back(graph.get());
    RETURN_IF_ERROR(Expect("("));
    while (!Accept(")")) {
      ASSIGN_OR_RETURN(std::string input, Identifier());
      RETURN_IF_ERROR(Expect(":"));
      ASSIGN_OR_RETURN(ValueType type, Type());
      if (graph->FindValue(input) != nullptr) return Error(absl::StrCat("second input ", input));
      graph->AddInput(std::move(input), std::move(type));
      Accept(",");
    }
    RETURN_IF_ERROR(Expect("->"));
    RETURN_IF_ERROR(Expect("("));
    std::vector<std::pair<std::string, std::string>> outputs;
    while (!Accept(")")) {
      ASSIGN_OR_RETURN(std::string value, Identifier());
      std::string public_name = value;
      if (AcceptWord("as")) {
        ASSIGN_OR_RETURN(public_name, Identifier());
      }
      outputs.emplace_back(std::move(value), std::move(public_name));
      Accept(",");
    }
    RETURN_IF_ERROR(Expect("{"));
    while (!Accept("}")) RETURN_IF_ERROR(Statement(*graph));
    for (auto& [value, public_name] : outputs) {
      ASSIGN_OR_RETURN(Value * v, Lookup(value));
      graph->AddOutput(v, std::move(public_name));
    }
    graphs_.pop_back();
    return graph;
  }

  absl::Status End() {
    SkipSpace();
    return position_ == text_.size() ? absl::OkStatus() : Error("expected the end of the text");
  }

 private:
  absl::Status Error(absl::string_view what) const {
    int line = 1, column = 1;
    for (size_t i = 0; i < position_ && i < text_.size(); ++i) {
      column = text_[i] == '\n' ? 1 : column + 1;
      line += text_[i] == '\n';
    }
    return absl::InvalidArgumentError(
        absl::StrCat("graph text, line ", line, ", column ", column, ": ", what));
  }

  void SkipSpace() {
    while (position_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[position_]))) {
        ++position_;
      } else if (text_[position_] == '#') {
        while (position_ < text_.size() && text_[position_] != '\n') ++position_;
      } else {
        return;
      }
    }
  }

  bool Accept(absl::string_view token) {
    SkipSpace();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  static bool IsNameChar(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/' ||
           c == '-' || c == ':';
  }
  bool AcceptWord(absl::string_view word) {
    const size_t start = position_;
    if (Accept(word) && (position_ == text_.size() || !IsNameChar(text_[position_]))) return true;
    position_ = start;
    return false;
  }
  absl::Status Expect(absl::string_view token) {
    return Accept(token) ? absl::OkStatus() : Error(absl::StrCat("expected '", token, "'"));
  }

  // Names may hold '.', '/' and ':' inside, as exporters write them, but "->" and a type's ':'
  // end one.
  absl::StatusOr<std::string> Identifier() {
    SkipSpace();
    const size_t start = position_;
    while (position_ < text_.size()) {
      const char c = text_[position_];
      const char next = position_ + 1 < text_.size() ? text_[position_ + 1] : '\0';
      if (!IsNameChar(c) || (c == '-' && next == '>')) break;
      if (c == ':' && !(next == ':' || (position_ > start && text_[position_ - 1] == ':'))) break;
      ++position_;
    }
    if (position_ == start) return Error("expected a name");
    return std::string(text_.substr(start, position_ - start));
  }

  absl::StatusOr<std::string> QuotedString() {
    RETURN_IF_ERROR(Expect("\""));
    const size_t start = position_;
    while (position_ < text_.size() && text_[position_] != '"') {
      position_ += text_[position_] == '\\' ? 2 : 1;
    }
    if (position_ >= text_.size()) return Error("unterminated string");
    std::string value;
    if (!absl::CUnescape(text_.substr(start, position_ - start), &value)) {
      return Error("bad escape in string");
    }
    ++position_;
    return value;
  }

  // The text of a number, and whether it is written as a float.
  absl::StatusOr<std::pair<std::string, bool>> NumberText() {
    SkipSpace();
    const size_t start = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) ||
            absl::string_view("+-.").find(text_[position_]) != absl::string_view::npos)) {
      ++position_;
    }
    if (position_ == start) return Error("expected a number");
    std::string number(text_.substr(start, position_ - start));
    const bool is_float = number.find_first_of(".en") != std::string::npos;
    return std::pair(std::move(number), is_float);
  }
  absl::StatusOr<double> Double() {
    ASSIGN_OR_RETURN(auto number, NumberText());
    double value = 0;
    if (!absl::SimpleAtod(number.first, &value)) {
      return Error(absl::StrCat("not a number: ", number.first));
    }
    return value;
  }
  absl::StatusOr<int64_t> Integer() {
    ASSIGN_OR_RETURN(auto number, NumberText());
    int64_t value = 0;
    uint64_t large = 0;
    if (absl::SimpleAtoi(number.first, &value)) return value;
    if (absl::SimpleAtoi(number.first, &large)) return static_cast<int64_t>(large);
    return Error(absl::StrCat("not an integer: ", number.first));
  }

  absl::StatusOr<ValueType> Type() {
    if (AcceptWord("seq")) {
      ValueType type;
      type.kind = ValueType::Kind::kSequence;
      RETURN_IF_ERROR(Expect("("));
      ASSIGN_OR_RETURN(ValueType inner, Type());
      type.inner = std::make_shared<const ValueType>(std::move(inner));
      RETURN_IF_ERROR(Expect(")"));
      return type;
    }
    ASSIGN_OR_RETURN(const ElementType element, Element());
    RETURN_IF_ERROR(Expect("["));
    if (Accept("...")) {
      RETURN_IF_ERROR(Expect("]"));
      return ValueType::TensorOf(element);
    }
    std::vector<Dim> dims;
    while (!Accept("]")) {
      SkipSpace();
      if (Accept("?")) {
        dims.push_back(Dim::Unknown());
      } else if (position_ < text_.size() &&
                 std::isdigit(static_cast<unsigned char>(text_[position_]))) {
        ASSIGN_OR_RETURN(const int64_t value, Integer());
        dims.push_back(value);
      } else {
        ASSIGN_OR_RETURN(std::string symbol, Identifier());
        dims.push_back(Dim::Symbol(std::move(symbol)));
      }
      Accept(",");
    }
    return ValueType::TensorOf(element, SymbolicShape(std::move(dims)));
  }

  absl::StatusOr<ElementType> Element() {
    ASSIGN_OR_RETURN(const std::string name, Identifier());
    const std::optional<ElementType> type = ElementTypeFromName(name);
    if (!type.has_value()) return Error(absl::StrCat("unknown element type '", name, "'"));
    return *type;
  }

  absl::StatusOr<Tensor> TensorLiteral() {
    ASSIGN_OR_RETURN(const ValueType type, Type());
    const std::optional<Shape> shape = type.shape.concrete();
    if (!shape.has_value()) return Error("a constant needs a concrete shape");
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(type.element, *shape));
    RETURN_IF_ERROR(Expect("{"));
    absl::Status status;
    auto read = [&](auto read_one) {
      for (int64_t i = 0; i < tensor.num_elements() && status.ok(); ++i) {
        if (i > 0) status = Expect(",");
        if (status.ok()) status = read_one(i);
      }
    };
    const bool known =
        DispatchType<float, double, Float16, BFloat16>(
            type.element,
            [&]<typename T>() {
              read([&](int64_t i) {
                auto v = Double();
                if (v.ok()) {
                  tensor.mutable_data<T>()[i] = static_cast<T>(static_cast<ComputeType<T>>(*v));
                }
                return v.status();
              });
            }) ||
        DispatchType<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>(
            type.element,
            [&]<typename T>() {
              read([&](int64_t i) {
                auto v = Integer();
                if (v.ok()) tensor.mutable_data<T>()[i] = static_cast<T>(*v);
                return v.status();
              });
            }) ||
        DispatchType<bool>(type.element,
                           [&]<typename T>() {
                             read([&](int64_t i) {
                               const bool value = AcceptWord("true");
                               tensor.mutable_data<T>()[i] = value;
                               return value ? absl::OkStatus() : Expect("false");
                             });
                           }) ||
        DispatchType<std::string>(type.element, [&]<typename T>() {
          read([&](int64_t i) {
            auto v = QuotedString();
            if (v.ok()) tensor.mutable_data<T>()[i] = *v;
            return v.status();
          });
        });
    if (!known) {
      return Error(absl::StrCat("no literals of type ", ElementTypeName(type.element)));
    }
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(Expect("}"));
    return tensor;
  }

  // In the innermost graph, or captured into it through every graph between.
  absl::StatusOr<Value*> Lookup(const std::string& name) {
    for (size_t found = graphs_.size(); found-- > 0;) {
      Value* value = graphs_[found]->FindValue(name);
      if (value == nullptr) continue;
      for (size_t inner = found + 1; inner < graphs_.size(); ++inner) {
        value = graphs_[inner]->AddCaptured(value);
      }
      return value;
    }
    return Error(absl::StrCat("unknown value ", name));
  }

  absl::StatusOr<AttributeValue> Attribute() {
    SkipSpace();
    const char c = position_ < text_.size() ? text_[position_] : '\0';
    if (c == '"') {
      ASSIGN_OR_RETURN(std::string value, QuotedString());
      return AttributeValue(std::move(value));
    }
    if (c == '{') {
      RETURN_IF_ERROR(Expect("{"));
      ASSIGN_OR_RETURN(std::unique_ptr<Graph> body, ParseGraph());
      RETURN_IF_ERROR(Expect("}"));
      return AttributeValue(std::shared_ptr<Graph>(std::move(body)));
    }
    if (c == '[') return List();
    // "inf" and "nan" are floats; any other word starts a tensor.
    if (std::isalpha(static_cast<unsigned char>(c)) && text_.substr(position_, 3) != "inf" &&
        text_.substr(position_, 3) != "nan") {
      ASSIGN_OR_RETURN(Tensor tensor, TensorLiteral());
      return AttributeValue(std::move(tensor));
    }
    ASSIGN_OR_RETURN(auto number, NumberText());
    return Number(number);
  }

  absl::StatusOr<AttributeValue> Number(const std::pair<std::string, bool>& number) {
    float f = 0;
    int64_t i = 0;
    if (number.second && absl::SimpleAtof(number.first, &f)) return AttributeValue(f);
    if (!number.second && absl::SimpleAtoi(number.first, &i)) return AttributeValue(i);
    return Error(absl::StrCat("not a number: ", number.first));
  }

  absl::StatusOr<AttributeValue> List() {
    RETURN_IF_ERROR(Expect("["));
    std::vector<int64_t> ints;
    std::vector<float> floats;
    std::vector<std::string> strings;
    while (!Accept("]")) {
      SkipSpace();
      if (position_ < text_.size() && text_[position_] == '"') {
        ASSIGN_OR_RETURN(std::string value, QuotedString());
        strings.push_back(std::move(value));
      } else {
        ASSIGN_OR_RETURN(auto number, NumberText());
        ASSIGN_OR_RETURN(AttributeValue value, Number(number));
        if (auto* f = std::get_if<float>(&value)) floats.push_back(*f);
        if (auto* i = std::get_if<int64_t>(&value)) ints.push_back(*i);
      }
      Accept(",");
    }
    if (!strings.empty()) return AttributeValue(std::move(strings));
    if (!floats.empty()) {
      floats.insert(floats.begin(), ints.begin(), ints.end());
      return AttributeValue(std::move(floats));
    }
    return AttributeValue(std::move(ints));
  }

  absl::Status Statement(Graph& graph) {
    std::vector<std::string> names;
    do {
      ASSIGN_OR_RETURN(std::string name, Identifier());
      names.push_back(std::move(name));
    } while (Accept(","));
    RETURN_IF_ERROR(Expect("="));
    for (const std::string& name : names) {
      if (name != "_" && graph.FindValue(name) != nullptr) {
        return Error(absl::StrCat("value ", name, " is defined twice"));
      }
    }
    if (AcceptWord("constant")) {
      ASSIGN_OR_RETURN(Tensor tensor, TensorLiteral());
      graph.AddConstant(names[0], std::move(tensor));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::string qualified, Identifier());
    std::string domain, op = qualified;
    if (const size_t colons = qualified.find("::"); colons != std::string::npos) {
      domain = qualified.substr(0, colons);
      op = qualified.substr(colons + 2);
    }
    const OpDef* def = registry_.Find(domain, op);
    if (def == nullptr) return Error(absl::StrCat("unknown operator ", qualified));
    Attributes attributes;
    if (Accept("{")) {
      while (!Accept("}")) {
        ASSIGN_OR_RETURN(std::string attribute, Identifier());
        RETURN_IF_ERROR(Expect("="));
        ASSIGN_OR_RETURN(AttributeValue value, Attribute());
        attributes.Set(std::move(attribute), std::move(value));
        Accept(",");
      }
    }
    std::vector<Value*> inputs;
    RETURN_IF_ERROR(Expect("("));
    while (!Accept(")")) {
      ASSIGN_OR_RETURN(const std::string name, Identifier());
      Value* value = nullptr;
      if (name != "_") {
        ASSIGN_OR_RETURN(value, Lookup(name));
      }
      inputs.push_back(value);
      Accept(",");
    }
    std::string node_name;
    if (Accept("@")) {
      ASSIGN_OR_RETURN(node_name, QuotedString());
    }
    LiftCaptures(*def, inputs, attributes);
    std::vector<Value*> outputs;
    for (const std::string& name : names) {
      outputs.push_back(name == "_" ? nullptr : graph.AddValue(name));
    }
    Node* node = graph.AddNode(*def, std::move(node_name), std::move(inputs), std::move(outputs),
                               std::move(attributes));
    if (absl::Status status = CheckNode(*node); !status.ok()) return Error(status.message());
    if (absl::Status status = InferNode(graph, *node); !status.ok()) {
      return Error(status.message());
    }
    return absl::OkStatus();
  }

  absl::string_view text_;
  const OpRegistry& registry_;
  size_t position_ = 0;
  std::vector<Graph*> graphs_;  // those being read, outermost first
};

}  // namespace

absl::StatusOr<std::unique_ptr<Graph>> ParseGraph(absl::string_view text,
                                                  const OpRegistry& registry) {
  Parser parser(text, registry);
  ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, parser.ParseGraph());
  RETURN_IF_ERROR(parser.End());
  return graph;
}

}  // namespace inferd::engine
