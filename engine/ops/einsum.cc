// Einsum: sums of products over named axes.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/matrix_row.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Axes are letters; those of an ellipsis are numbered from the right: -1 is the last.
using Label = int;
using Labels = std::vector<Label>;

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
};

// One operand's term, "b...ij", for a tensor of `rank` axes.
absl::StatusOr<Labels> ReadTerm(const std::string& term, int rank, int* ellipsis_rank) {
  const auto fail = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute equation: term \"", term, "\" ", why));
  };
  Labels labels;
  const size_t dots = term.find("...");
  const int letters = static_cast<int>(term.size()) - (dots == std::string::npos ? 0 : 3);
  const int covered = rank - letters;
  if (covered < 0 || (dots == std::string::npos && covered != 0)) {
    return fail(absl::StrCat("does not fit an operand of rank ", rank));
  }
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (int k = covered; k > 0; --k) labels.push_back(-k);
      i += 2;
    } else if (absl::ascii_isalpha(static_cast<unsigned char>(term[i]))) {
      labels.push_back(term[i]);
    } else {
      return fail("holds something else than letters and one ellipsis");
    }
  }
  *ellipsis_rank = std::max(*ellipsis_rank, covered);
  return labels;
}

absl::StatusOr<Equation> ReadEquation(const Attributes& attributes, const std::vector<int>& ranks) {
  std::string text = attributes.GetString("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  const std::vector<std::string> terms = absl::StrSplit(text.substr(0, arrow), ',');
  if (terms.size() != ranks.size()) {
    return absl::InvalidArgumentError(absl::StrCat("attribute equation has ", terms.size(),
                                                   " terms for ", ranks.size(), " inputs"));
  }
  Equation e;
  int ellipsis = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    ASSIGN_OR_RETURN(e.inputs.emplace_back(), ReadTerm(terms[i], ranks[i], &ellipsis));
  }
  if (arrow != std::string::npos) {
    const std::string right = text.substr(arrow + 2);
    const bool has_dots = right.find("...") != std::string::npos;
    const int rank = static_cast<int>(right.size()) - (has_dots ? 3 - ellipsis : 0);
    int covered = 0;
    ASSIGN_OR_RETURN(e.output, ReadTerm(right, rank, &covered));
  } else {
    // The axes named once, in alphabetical order, after those of the ellipsis.
    for (int k = ellipsis; k > 0; --k) e.output.push_back(-k);
    std::map<Label, int> uses;
    for (const Labels& term : e.inputs) {
      for (const Label l : term) ++uses[l];
    }
    for (const auto& [label, count] : uses) {
      if (label > 0 && count == 1) e.output.push_back(label);
    }
  }
  Labels sorted = e.output;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return absl::InvalidArgumentError("attribute equation names an axis of the output twice");
  }
  return e;
}

// The size of every label, checked over all operands.
absl::StatusOr<std::map<Label, Dim>> LabelSizes(const Equation& e,
                                                const std::vector<SymbolicShape>& shapes) {
  std::map<Label, Dim> sizes;
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (size_t a = 0; a < e.inputs[i].size(); ++a) {
      const auto [it, first] = sizes.emplace(e.inputs[i][a], shapes[i][a]);
      if (!first) {
        ASSIGN_OR_RETURN(it->second, BroadcastDims(it->second, shapes[i][a]));
      }
    }
  }
  for (const Label l : e.output) {
    if (!sizes.contains(l)) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute equation: no input has the output's axis '",
                       l > 0 ? std::string(1, static_cast<char>(l)) : "...", "'"));
    }
  }
  return sizes;
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectAllInputs(context));
  const int count = context.node().num_inputs();
  std::vector<SymbolicShape> shapes;
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) {
    if (!context.shape(i).has_rank()) {
      context.SetOutput(0, context.element_type(0), {});
      return absl::OkStatus();
    }
    shapes.push_back(context.shape(i));
    ranks.push_back(shapes.back().rank());
  }
  ASSIGN_OR_RETURN(const Equation e, ReadEquation(context.attributes(), ranks));
  ASSIGN_OR_RETURN(const auto sizes, LabelSizes(e, shapes));
  std::vector<Dim> dims;
  for (const Label l : e.output) dims.push_back(sizes.at(l));
  context.SetOutput(0, context.element_type(0), SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

// A loop nest: the output's axes, then the summed ones, with each operand's stride along each.
struct Loops {
  std::vector<int64_t> sizes;                 // output axes first
  std::vector<std::vector<int64_t>> strides;  // [operand][axis]
  int64_t outputs = 1;
  int64_t summed = 1;
  int output_rank = 0;
};

template <typename T>
class EinsumKernel final : public Kernel {
 public:
  explicit EinsumKernel(Loops loops) : loops_(std::move(loops)) {}

  absl::Status Run(KernelContext& context) const override {
    T* y = context.output(0).as<T>();
    context.threads().ParallelFor(loops_.outputs, 64, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        SumType<T> sum = 0;
        for (int64_t s = 0; s < loops_.summed; ++s) {
          SumType<T> product = 1;
          for (size_t i = 0; i < loops_.strides.size(); ++i) {
            const T* x = context.input(static_cast<int>(i)).as<T>();
            product *= static_cast<SumType<T>>(
                static_cast<ComputeType<T>>(x[Offset(loops_.strides[i], o, s)]));
          }
          sum += product;
        }
        y[o] = static_cast<T>(static_cast<ComputeType<T>>(sum));
      }
    });
    return absl::OkStatus();
  }

 private:
  int64_t Offset(const std::vector<int64_t>& strides, int64_t o, int64_t s) const {
    int64_t offset = 0;
    for (int axis = static_cast<int>(loops_.sizes.size()) - 1; axis >= 0; --axis) {
      int64_t& rest = axis >= loops_.output_rank ? s : o;
      offset += rest % loops_.sizes[axis] * strides[axis];
      rest /= loops_.sizes[axis];
    }
    return offset;
  }

  Loops loops_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  std::vector<SymbolicShape> shapes;
  std::vector<int> ranks;
  for (const OperandSpec& x : spec.inputs) {
    shapes.emplace_back(x.shape);
    ranks.push_back(x.shape.rank());
  }
  ASSIGN_OR_RETURN(const Equation e, ReadEquation(spec.attributes(), ranks));
  ASSIGN_OR_RETURN(const auto sizes, LabelSizes(e, shapes));
  Labels order = e.output;
  for (const auto& [label, size] : sizes) {
    if (std::find(e.output.begin(), e.output.end(), label) == e.output.end()) {
      order.push_back(label);
    }
  }
  Loops loops;
  loops.output_rank = static_cast<int>(e.output.size());
  Shape y;
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t size = sizes.at(order[i]).value();
    loops.sizes.push_back(size);
    (i < e.output.size() ? loops.outputs : loops.summed) *= size;
    if (i < e.output.size()) y.push_back(size);
  }
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const auto strides = RowMajorStrides(spec.inputs[i].shape);
    std::vector<int64_t>& by_axis = loops.strides.emplace_back(order.size(), 0);
    for (size_t a = 0; a < e.inputs[i].size(); ++a) {
      if (spec.inputs[i].shape[a] == 1) continue;  // broadcast
      // An axis named twice runs along the diagonal.
      by_axis[std::find(order.begin(), order.end(), e.inputs[i][a]) - order.begin()] += strides[a];
    }
  }
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16, uint8_t, int8_t, uint16_t, int16_t, uint32_t,
               int32_t, uint64_t, int64_t>(spec.input(0).type, [&]<typename T>() {
    kernel = std::make_unique<EinsumKernel<T>>(std::move(loops));
  });
  return kernel;
}

}  // namespace

void RegisterEinsumOps(OpRegistry& registry) {
  registry.Register(
      {.name = "Einsum",
       .version = 28,
       .oldest_version = 12,
       .inputs = {{"Inputs", "T", type_sets::kNumeric, FormalParameter::Option::kVariadic}},
       .outputs = {{"Output", "T", type_sets::kNumeric}},
       .attributes = {{"equation", AttributeSpec::Kind::kString, /*required=*/true}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
