#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "engine/ir/text_format.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {
namespace {

// The shortest text that reads back as the same number.
std::string Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = absl::StrFormat("%.9g", value);
  if (std::strtod(text.c_str(), nullptr) != value) text = absl::StrFormat("%.17g", value);
  return text;
}

std::string Quoted(absl::string_view text) { return absl::StrCat("\"", absl::CEscape(text), "\""); }

std::string Elements(const TensorView& t) {
  std::vector<std::string> items;
  const bool known =
      DispatchType<float, double, Float16, BFloat16>(
          t.type,
          [&]<typename T>() {
            for (T v : t.span<T>()) {
              items.push_back(Number(static_cast<ComputeType<T>>(v)));
            }
          }) ||
      DispatchType<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>(
          t.type,
          [&]<typename T>() {
            for (T v : t.span<T>()) items.push_back(absl::StrCat(+v));
          }) ||
      DispatchType<bool>(t.type,
                         [&]<typename T>() {
                           for (T v : t.span<T>()) items.push_back(v ? "true" : "false");
                         }) ||
      DispatchType<std::string>(t.type, [&]<typename T>() {
        for (const T& v : t.span<T>()) items.push_back(Quoted(v));
      });
  return known ? absl::StrJoin(items, ",") : "...";
}

std::string TensorText(const Tensor& tensor, int64_t max_elements) {
  return absl::StrCat(ElementTypeName(tensor.type()), tensor.shape().ToString(), " {",
                      tensor.num_elements() <= max_elements ? Elements(tensor.view()) : "...", "}");
}

class Printer {
 public:
  explicit Printer(int64_t max_elements) : max_elements_(max_elements) {}

  void Print(const Graph& graph, int indent) {
    const std::string pad(indent, ' ');
    absl::StrAppend(&out_, pad, "graph ", graph.name().empty() ? "g" : graph.name(), " (",
                    absl::StrJoin(graph.inputs(), ", ",
                                  [](std::string* out, const Value* v) {
                                    absl::StrAppend(out, v->name(), ": ", v->type().ToString());
                                  }),
                    ") -> (");
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const std::string& value = graph.outputs()[i]->name();
      const std::string& name = graph.output_name(static_cast<int>(i));
      absl::StrAppend(&out_, i == 0 ? "" : ", ", value);
      if (name != value) absl::StrAppend(&out_, " as ", name);
    }
    absl::StrAppend(&out_, ") {\n");
    for (const Value* v : graph.constants()) {
      absl::StrAppend(&out_, pad, "  ", v->name(), " = constant ",
                      TensorText(v->constant(), max_elements_), "\n");
    }
    for (const auto& node : graph.nodes()) PrintNode(*node, indent + 2);
    absl::StrAppend(&out_, pad, "}\n");
  }

  std::string Take() { return std::move(out_); }

 private:
  static std::string Operands(const std::vector<Value*>& values) {
    return absl::StrJoin(values, ", ", [](std::string* out, const Value* v) {
      absl::StrAppend(out, v == nullptr ? "_" : v->name());
    });
  }

  void PrintNode(const Node& node, int indent) {
    absl::StrAppend(&out_, std::string(indent, ' '), Operands(node.outputs()), " = ",
                    node.op().qualified_name());
    std::string attributes;
    for (const auto& [name, value] : node.attributes()) {
      absl::StrAppend(&attributes, attributes.empty() ? "" : ", ", name, "=",
                      AttributeText(value, indent));
    }
    if (!attributes.empty()) absl::StrAppend(&out_, "{", attributes, "}");
    absl::StrAppend(&out_, "(", Operands(node.inputs()), ")");
    if (!node.name().empty()) absl::StrAppend(&out_, " @", Quoted(node.name()));
    absl::StrAppend(&out_, "\n");
  }

  struct Visitor {
    Printer& printer;
    int indent;
    std::string operator()(int64_t v) const { return absl::StrCat(v); }
    // A float always shows a point or an exponent, so that it reads back as one.
    std::string operator()(float v) const {
      std::string text = Number(v);
      const bool plain = text.find_first_of(".en") == std::string::npos;
      return plain ? text + ".0" : text;
    }
    std::string operator()(const std::string& v) const { return Quoted(v); }
    std::string operator()(const Tensor& v) const { return TensorText(v, printer.max_elements_); }
    std::string operator()(const std::shared_ptr<Graph>& v) const {
      Printer body(printer.max_elements_);
      body.Print(*v, indent + 4);
      return absl::StrCat("{\n", body.Take(), std::string(indent + 2, ' '), "}");
    }
    std::string operator()(const ValueType& v) const { return v.ToString(); }
    template <typename T>
    std::string operator()(const std::vector<T>& v) const {
      return absl::StrCat("[",
                          absl::StrJoin(v, ",",
                                        [&](std::string* out, const T& item) {
                                          absl::StrAppend(out, (*this)(item));
                                        }),
                          "]");
    }
  };

  std::string AttributeText(const AttributeValue& value, int indent) {
    return std::visit(Visitor{*this, indent}, value);
  }

  int64_t max_elements_;
  std::string out_;
};

}  // namespace

std::string PrintGraph(const Graph& graph, int64_t max_elements) {
  Printer printer(max_elements);
  printer.Print(graph, 0);
  return printer.Take();
}

}  // namespace inferd::engine
