// Every malformed model ends in a clear error, or it loads and its run ends in an error or a
// result, within a bounded amount of memory; nothing crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <ostream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "engine/runtime/model.h"
#include "tests/engine/onnx/malformed_cases.h"

#if defined(__SANITIZE_ADDRESS__)
// The address space of this build is no measure; its allocator has a limit of its own.
extern "C" const char* __asan_default_options() { return "max_allocation_size_mb=2048"; }
#endif

namespace inferd::engine {

// What GoogleTest prints of a case that fails.
static void PrintTo(const MalformedCase& malformed, std::ostream* out) { *out << malformed.name; }

namespace {

constexpr rlim_t kAddressSpace = rlim_t{2} << 30;

std::vector<MalformedCase> AllCases() {
  std::vector<MalformedCase> cases = MutatedModels();
  for (MalformedCase& c : ImpossibleModels()) cases.push_back(std::move(c));
  return cases;
}

class MalformedModelTest : public ::testing::TestWithParam<MalformedCase> {
 protected:
  static void SetUpTestSuite() {
#if !defined(__SANITIZE_ADDRESS__)
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = std::min(limit.rlim_max, kAddressSpace);
    setrlimit(RLIMIT_AS, &limit);
#endif
  }
};

// Inputs of the declared shapes with unknown dimensions of 2. Numbers are zero, save that inputs
// called "huge" hold a number no shape can.
absl::StatusOr<std::vector<Tensor>> InputsFor(const Model& model) {
  std::vector<Tensor> inputs;
  for (const TensorInfo& info : model.inputs()) {
    if (!info.type.is_tensor()) return absl::UnimplementedError("a composite input");
    Shape shape;
    if (info.type.shape.has_rank()) {
      for (const Dim& d : info.type.shape.dims()) shape.push_back(d.known() ? d.value() : 2);
    }
    absl::StatusOr<Tensor> tensor = Tensor::Allocate(info.type.element, shape);
    if (!tensor.ok()) return tensor.status();
    if (tensor->type() != ElementType::kString) {
      std::memset(tensor->view().data, 0, tensor->num_bytes());
    }
    if (info.name == "huge") {
      for (int64_t i = 0; i < tensor->num_elements(); ++i) {
        tensor->mutable_data<int64_t>()[i] = int64_t{1} << 40;
      }
    }
    inputs.push_back(*std::move(tensor));
  }
  return inputs;
}

bool Names(absl::string_view message, absl::string_view alternatives) {
  const std::vector<absl::string_view> names = absl::StrSplit(alternatives, '|');
  return std::any_of(names.begin(), names.end(),
                     [&](absl::string_view name) { return absl::StrContains(message, name); });
}

absl::Status LoadAndRun(const std::string& bytes, bool eager) {
  ModelOptions options;
  options.eager = eager;
  absl::StatusOr<std::shared_ptr<Model>> model =
      Model::LoadFromBytes(bytes, ::testing::TempDir(), options);
  if (!model.ok()) return model.status();
  absl::StatusOr<std::vector<Tensor>> inputs = InputsFor(**model);
  if (!inputs.ok()) return inputs.status();
  absl::StatusOr<std::unique_ptr<Context>> context = (*model)->NewContext({1, false});
  if (!context.ok()) return context.status();
  std::vector<TensorView> views;
  for (const Tensor& input : *inputs) views.push_back(input.view());
  std::vector<Tensor> outputs;
  return (*context)->Run(views, &outputs);
}

TEST_P(MalformedModelTest, EndsInAnErrorOrAResult) {
  for (bool eager : {false, true}) {
    const absl::Status status = LoadAndRun(GetParam().bytes, eager);
    if (status.ok()) {
      EXPECT_TRUE(GetParam().may_run) << "it ran";
      continue;
    }
    // INTERNAL would be a mistake of ours: a graph the verifier refuses, a kernel that threw.
    EXPECT_THAT(
        status.code(),
        ::testing::AnyOf(absl::StatusCode::kInvalidArgument, absl::StatusCode::kUnimplemented,
                         absl::StatusCode::kNotFound, absl::StatusCode::kResourceExhausted))
        << status;
    EXPECT_FALSE(status.message().empty());
    if (!GetParam().may_run) {
      EXPECT_TRUE(Names(status.message(), GetParam().named))
          << status << "\nnames none of " << GetParam().named;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MalformedModelTest, ::testing::ValuesIn(AllCases()),
                         [](const auto& tested) { return tested.param.name; });

TEST(MalformedModelsTest, AreManyAndDifferent) {
  std::set<std::string> contents;
  int must_fail = 0;
  for (const MalformedCase& c : AllCases()) {
    contents.insert(c.bytes);
    must_fail += !c.may_run;
  }
  EXPECT_GE(contents.size(), 400u);
  EXPECT_GE(must_fail, 200);
}

}  // namespace
}  // namespace inferd::engine
