// RegexFullMatch: whether the whole of each text matches a regular expression. RE2 runs in time
// linear in the text whatever the pattern.
#include <re2/re2.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr int64_t kGrain = 256;

absl::StatusOr<std::shared_ptr<const RE2>> CompilePattern(const Attributes& attributes) {
  const std::string* pattern = attributes.Get<std::string>("pattern");
  if (pattern == nullptr) return absl::InvalidArgumentError("attribute pattern is missing");
  RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_shared<const RE2>(*pattern, options);
  if (!compiled->ok()) {
    return absl::InvalidArgumentError(absl::StrCat("attribute pattern is not a regular expression",
                                                   " of RE2: ", compiled->error()));
  }
  return compiled;
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(CompilePattern(context.attributes()).status());
  context.SetOutput(0, ElementType::kBool, context.shape(0));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const RE2> pattern, CompilePattern(spec.attributes()));
  return MakeKernel([pattern](KernelContext& context) {
    const std::string* x = context.input(0).as<std::string>();
    bool* y = context.output(0).as<bool>();
    context.threads().ParallelFor(context.input(0).num_elements(), kGrain,
                                  [&](int64_t begin, int64_t end) {
                                    for (int64_t i = begin; i < end; ++i)
                                      y[i] = RE2::FullMatch(x[i], *pattern);
                                  });
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterRegexFullMatchOps(OpRegistry& registry) {
  registry.Register({.name = "RegexFullMatch",
                     .version = 20,
                     .oldest_version = 20,
                     .inputs = {{"X", "", {ElementType::kString}}},
                     .outputs = {{"Y", "", {ElementType::kBool}}},
                     .attributes = {{"pattern", AttributeSpec::Kind::kString}},
                     .infer = Infer,
                     .reference = Reference,
                     .is_elementwise = true});
}

}  // namespace inferd::engine
