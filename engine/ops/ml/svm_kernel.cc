#include "engine/ops/ml/svm_kernel.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace inferd::engine {

absl::StatusOr<SvmKernel> ReadSvmKernel(const Attributes& attributes) {
  SvmKernel kernel;
  const std::string name = attributes.GetString("kernel_type", "LINEAR");
  if (name == "LINEAR") {
    kernel.type = SvmKernel::Type::kLinear;
  } else if (name == "POLY") {
    kernel.type = SvmKernel::Type::kPoly;
  } else if (name == "RBF") {
    kernel.type = SvmKernel::Type::kRbf;
  } else if (name == "SIGMOID") {
    kernel.type = SvmKernel::Type::kSigmoid;
  } else {
    return absl::InvalidArgumentError(absl::StrCat("attribute kernel_type is \"", name,
                                                   "\", expected LINEAR, POLY, RBF or SIGMOID"));
  }
  const std::vector<float> params = attributes.GetFloats("kernel_params");
  if (params.empty()) return kernel;
  if (params.size() != 3) {
    return absl::InvalidArgumentError(absl::StrCat("attribute kernel_params has ", params.size(),
                                                   " values, expected gamma, coef0, degree"));
  }
  kernel.gamma = params[0];
  kernel.coef0 = params[1];
  kernel.degree = params[2];
  return kernel;
}

}  // namespace inferd::engine
