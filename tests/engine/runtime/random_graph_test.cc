// Random graphs: the planned run, with aliases, memory in place and reuse, gives what the eager
// one does, where every value has memory of its own.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/passes/pass.h"
#include "tests/engine/runtime/test_graphs.h"

namespace inferd::engine {
namespace {

// A graph over float[4,6], float[6,4] and float[24], as text.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {
    values_[0] = {"x0", "x1"};
    values_[1] = {"x2"};
    body_ =
        "  to24 = constant int64[1] {24}\n  to46 = constant int64[2] {4,6}\n"
        "  to64 = constant int64[2] {6,4}\n  k46 = constant float[4,6] {1,-2,3,-4,5,-6,7,-8,9,1,2,"
        "3,4,5,6,7,8,9,1,2,3,4,5,6}\n";
    values_[0].push_back("k46");
    const int nodes = 5 + static_cast<int>(random_() % 30);
    for (int i = 0; i < nodes; ++i) AddNode(i);
  }

  std::string Text() {
    std::vector<std::string> outputs;
    for (const auto& pool : values_) {
      for (const std::string& v : pool) {
        if (v[0] == 'v' && random_() % 5 == 0) outputs.push_back(v);
      }
    }
    if (outputs.empty()) outputs.push_back(last_);
    return absl::StrCat("graph g (x0: float[4,6], x1: float[4,6], x2: float[6,4]) -> (",
                        absl::StrJoin(outputs, ", "), ") {\n", body_, "}");
  }

 private:
  std::string Pick(int kind) {
    const auto& pool = values_[kind];
    // Mostly recent values, so that chains are long and memory dies.
    const size_t span = random_() % 3 == 0 ? pool.size() : std::min<size_t>(pool.size(), 3);
    return pool[pool.size() - 1 - random_() % span];
  }

  void AddNode(int i) {
    static const char* const kUnary[] = {"Neg", "Relu", "Abs", "Sigmoid", "Identity"};
    static const char* const kBinary[] = {"Add", "Sub", "Mul", "Max"};
    int kind = static_cast<int>(random_() % 3);
    if (values_[kind].empty()) kind = 0;
    const std::string name = absl::StrCat("v", i);
    int result = kind;
    std::string line;
    switch (random_() % 6) {
      case 0:
        line = absl::StrCat(kUnary[random_() % 5], "(", Pick(kind), ")");
        break;
      case 1:
      case 2:
        line = absl::StrCat(kBinary[random_() % 4], "(", Pick(kind), ", ", Pick(kind), ")");
        break;
      case 3:
        if (kind == 2) {
          line = absl::StrCat("Softmax{axis=0}(", Pick(2), ")");
        } else {
          result = 1 - kind;
          line = absl::StrCat("Transpose{perm=[1,0]}(", Pick(kind), ")");
        }
        break;
      case 4: {
        static const char* const kTargets[] = {"to46", "to64", "to24"};
        result = static_cast<int>(random_() % 3);
        line = absl::StrCat("Reshape(", Pick(kind), ", ", kTargets[result], ")");
        break;
      }
      default:
        if (kind == 2) {
          line = absl::StrCat("Identity(", Pick(2), ")");
        } else {
          body_ += absl::StrCat("  ", name, "a, ", name, "b = Split{axis=0, num_outputs=2}(",
                                Pick(kind), ")\n");
          line = absl::StrCat("Concat{axis=0}(", name, "b, ", name, "a)");
        }
    }
    body_ += absl::StrCat("  ", name, " = ", line, "\n");
    values_[result].push_back(name);
    last_ = name;
  }

  std::mt19937 random_;
  std::vector<std::string> values_[3];
  std::string body_;
  std::string last_;
};

class RandomGraphTest : public ::testing::TestWithParam<bool> {};

TEST_P(RandomGraphTest, PlannedEqualsEager) {
  ModelOptions planned;
  if (GetParam()) {
    for (absl::string_view name : PassNames()) planned.disabled_passes.emplace_back(name);
  }
  ModelOptions eager;
  eager.eager = true;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const std::string text = RandomGraph(seed).Text();
    SCOPED_TRACE(text);
    auto model = ModelFromText(text, planned);
    ASSERT_TRUE(model.ok()) << model.status();
    auto oracle = ModelFromText(text, eager);
    ASSERT_TRUE(oracle.ok()) << oracle.status();
    auto context = ContextFor(**model);
    auto oracle_context = ContextFor(**oracle);
    for (int round = 0; round < 2; ++round) {
      const std::vector<Tensor> inputs = {Ramp({4, 6}, 0.1f + round), Ramp({4, 6}, -0.3f),
                                          Ramp({6, 4}, 0.05f)};
      auto got = RunOnce(*context, inputs);
      ASSERT_TRUE(got.ok()) << got.status();
      auto want = RunOnce(*oracle_context, inputs);
      ASSERT_TRUE(want.ok()) << want.status();
      ASSERT_EQ(got->size(), want->size());
      for (size_t o = 0; o < got->size(); ++o) {
        ASSERT_EQ((*got)[o].shape(), (*want)[o].shape());
        const auto g = ValuesOf((*got)[o]);
        const auto w = ValuesOf((*want)[o]);
        for (size_t i = 0; i < g.size(); ++i) {
          ASSERT_NEAR(g[i], w[i], 1e-4 * (1 + std::abs(w[i]))) << "output " << o << " at " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Passes, RandomGraphTest, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "WithoutPasses" : "WithPasses"; });

}  // namespace
}  // namespace inferd::engine
