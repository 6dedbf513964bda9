#include "model_repository/batch_axis.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace inferd::repository {
namespace {

class AxisFinder {
 public:
  void Visit(const engine::TensorInfo& info, const char* what) {
    if (axis_.kind == BatchAxis::Kind::kNone && !axis_.reason.empty()) return;  // settled
    const std::string tensor = absl::StrCat(what, " '", info.name, "'");
    if (!info.type.is_tensor()) return Refuse(absl::StrCat(tensor, " is not a tensor"));
    const engine::SymbolicShape& shape = info.type.shape;
    if (!shape.has_rank()) return Refuse(absl::StrCat(tensor, " has no declared rank"));
    if (shape.rank() == 0) return Refuse(absl::StrCat(tensor, " is a scalar"));
    const engine::Dim& first = shape[0];
    if (first.known()) {
      return Refuse(absl::StrCat(tensor, " has a fixed first dimension ", first.value()));
    }
    if (!first.symbolic()) return;
    if (symbol_.empty()) {
      symbol_ = first.symbol();
      symbol_owner_ = tensor;
    } else if (symbol_ != first.symbol() && axis_.kind == BatchAxis::Kind::kFree) {
      axis_.kind = BatchAxis::Kind::kAmbiguous;
      axis_.reason = absl::StrCat("the first dimension of ", symbol_owner_, " is called '", symbol_,
                                  "', that of ", tensor, " '", first.symbol(), "'");
    }
  }
  BatchAxis Take() { return std::move(axis_); }

 private:
  void Refuse(std::string reason) { axis_ = {BatchAxis::Kind::kNone, std::move(reason)}; }

  BatchAxis axis_{BatchAxis::Kind::kFree, ""};
  std::string symbol_;
  std::string symbol_owner_;
};

}  // namespace

BatchAxis FindBatchAxis(const std::vector<engine::TensorInfo>& inputs,
                        const std::vector<engine::TensorInfo>& outputs) {
  if (inputs.empty()) return {BatchAxis::Kind::kNone, "the model has no inputs"};
  AxisFinder finder;
  for (const engine::TensorInfo& input : inputs) {
    if (!input.optional) finder.Visit(input, "input");
  }
  for (const engine::TensorInfo& output : outputs) finder.Visit(output, "output");
  return finder.Take();
}

absl::StatusOr<scheduler::TensorSpec> MakeTensorSpec(const engine::TensorInfo& info,
                                                     const std::string& what) {
  if (!info.type.is_tensor()) {
    return absl::UnimplementedError(absl::StrCat(what, " '", info.name, "' is a ",
                                                 info.type.ToString(),
                                                 "; only models of tensors can be served"));
  }
  scheduler::TensorSpec spec;
  spec.name = info.name;
  spec.type = info.type.element;
  spec.optional = info.optional;
  if (!info.type.shape.has_rank()) {
    spec.any_rank = true;
    return spec;
  }
  for (const engine::Dim& dim : info.type.shape.dims()) {
    spec.dims.push_back(dim.known() ? dim.value() : -1);
  }
  return spec;
}

}  // namespace inferd::repository
