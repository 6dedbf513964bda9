// ai.onnx.ml.SVMClassifier: one machine for each pair of classes, or one weighted sum of features
// for each class.
#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/parsed_attributes.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/ml/attribute_lists.h"
#include "engine/ops/ml/class_labels.h"
#include "engine/ops/ml/pairwise_coupling.h"
#include "engine/ops/ml/post_transform.h"
#include "engine/ops/ml/svm_kernel.h"
#include "engine/ops/ml/table_input.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Beyond this the pairs of classes do not fit in any real model, and their number in no integer.
constexpr int64_t kMaxClasses = 1 << 20;

// What the attributes say about the outputs.
struct Outline {
  ClassLabels labels;
  bool pairwise = false;       // vectors_per_class is there and not empty
  bool probabilities = false;  // prob_a is there

  int64_t classes() const { return labels.size(); }
  int64_t pairs() const { return classes() * (classes() - 1) / 2; }
  bool couples() const { return pairwise && probabilities; }
  // Raw decisions one row has.
  int64_t decisions() const { return pairwise ? pairs() : classes(); }
  int64_t scores() const {
    return couples() || !pairwise ? classes() : std::max<int64_t>(pairs(), 2);
  }
};

absl::StatusOr<Outline> ReadOutline(const Attributes& a) {
  Outline o;
  ASSIGN_OR_RETURN(o.labels, ReadClassLabels(a, "classlabels_strings", "classlabels_ints"));
  const std::vector<int64_t> per_class = a.GetInts("vectors_per_class");
  o.pairwise = std::any_of(per_class.begin(), per_class.end(), [](int64_t n) { return n != 0; });
  o.probabilities = !a.GetFloats("prob_a").empty();
  if (o.classes() > kMaxClasses) {
    return absl::InvalidArgumentError(
        absl::StrCat(o.classes(), " class labels, expected at most ", kMaxClasses));
  }
  if (o.pairwise && o.classes() < 2) {
    return absl::InvalidArgumentError(
        "one class label, expected at least 2 where the model has support vectors");
  }
  return o;
}

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const Outline outline, ReadOutline(context.attributes()));
  ASSIGN_OR_RETURN(const Dim rows, InferRows(context));
  context.SetOutput(0, outline.labels.type(), SymbolicShape({rows}));
  if (context.node().output(1) != nullptr) {
    context.SetOutput(1, ElementType::kFloat32, SymbolicShape({rows, Dim(outline.scores())}));
  }
  return absl::OkStatus();
}

struct Machine {
  Outline outline;
  SvmKernel kernel;
  PostTransform transform = PostTransform::kNone;
  int64_t features = 0;
  int64_t vectors = 0;
  std::vector<int64_t> first;  // where each class's support vectors start; one more at the end
  std::vector<float> support_vectors;
  // Pairwise: row j - 1 of class i's vectors weighs them in the machine of (i, j), row i of class
  // j's likewise. Otherwise: one row of feature weights for each class.
  std::vector<float> coefficients;
  std::vector<float> rho, prob_a, prob_b;
  bool coefficients_are_positive = false;
};

absl::Status ReadVectors(const Attributes& a, Machine* m) {
  const std::vector<int64_t> per_class = a.GetInts("vectors_per_class");
  const int64_t classes = m->outline.classes();
  RETURN_IF_ERROR(
      ExpectValues("vectors_per_class", static_cast<int64_t>(per_class.size()), classes));
  m->support_vectors = a.GetFloats("support_vectors");
  const int64_t values = static_cast<int64_t>(m->support_vectors.size());
  const int64_t coefficients = static_cast<int64_t>(m->coefficients.size());
  m->first = {0};
  for (const int64_t n : per_class) {
    if (n < 0 || n > coefficients - m->vectors) {
      return absl::InvalidArgumentError(absl::StrCat("attribute vectors_per_class holds ", n,
                                                     ", expected at most as many as coefficients"));
    }
    m->first.push_back(m->vectors += n);
  }
  if (values % m->vectors != 0) {
    return absl::InvalidArgumentError(absl::StrCat("attribute support_vectors has ", values,
                                                   " values, which are no ", m->vectors,
                                                   " vectors of one length"));
  }
  m->features = values / m->vectors;
  RETURN_IF_ERROR(ExpectValues("coefficients", coefficients, (classes - 1) * m->vectors));
  RETURN_IF_ERROR(ExpectValues("rho", static_cast<int64_t>(m->rho.size()), m->outline.pairs()));
  if (!m->outline.probabilities) return absl::OkStatus();
  m->prob_a = a.GetFloats("prob_a");
  m->prob_b = a.GetFloats("prob_b");
  RETURN_IF_ERROR(
      ExpectValues("prob_a", static_cast<int64_t>(m->prob_a.size()), m->outline.pairs()));
  return ExpectValues("prob_b", static_cast<int64_t>(m->prob_b.size()), m->outline.pairs());
}

absl::StatusOr<Machine> ReadMachine(const Attributes& a) {
  Machine m;
  ASSIGN_OR_RETURN(m.outline, ReadOutline(a));
  ASSIGN_OR_RETURN(m.kernel, ReadSvmKernel(a));
  ASSIGN_OR_RETURN(m.transform, ReadPostTransform(a));
  m.coefficients = a.GetFloats("coefficients");
  m.rho = a.GetFloats("rho");
  m.coefficients_are_positive =
      std::all_of(m.coefficients.begin(), m.coefficients.end(), [](float c) { return c >= 0; });
  if (m.outline.pairwise) {
    RETURN_IF_ERROR(ReadVectors(a, &m));
    return m;
  }
  const int64_t coefficients = static_cast<int64_t>(m.coefficients.size());
  if (coefficients % m.outline.classes() != 0) {
    return absl::InvalidArgumentError(absl::StrCat("attribute coefficients has ", coefficients,
                                                   " values, expected as many for each of ",
                                                   m.outline.classes(), " classes"));
  }
  m.features = coefficients / m.outline.classes();
  if (m.rho.empty()) m.rho.push_back(0);
  return m;
}

// Memory for one row at a time.
struct Scratch {
  absl::Span<double> decisions;
  absl::Span<double> scores;
  absl::Span<double> votes;
  absl::Span<double> coupling;

  static int64_t Size(const Outline& o) {
    return o.decisions() + o.scores() + o.classes() +
           (o.couples() ? PairwiseCouplingScratch(o.classes()) : 0);
  }
  Scratch(const Outline& o, double* memory) {
    const auto take = [&](int64_t n) {
      const absl::Span<double> span(memory, n);
      memory += n;
      return span;
    };
    decisions = take(o.decisions());
    scores = take(o.scores());
    votes = take(o.classes());
    coupling = take(o.couples() ? PairwiseCouplingScratch(o.classes()) : 0);
  }
};

// The number of the machine of classes i < j.
int64_t PairIndex(int64_t i, int64_t j, int64_t classes) {
  return i * classes - i * (i + 1) / 2 + j - i - 1;
}

// Adds each support vector's share to the machines of its class's pairs. Returns the class that
// wins the most of them, the first of equals.
template <typename T>
int64_t DecidePairs(const Machine& m, const T* row, Scratch& s) {
  const int64_t classes = m.outline.classes();
  std::copy(m.rho.begin(), m.rho.end(), s.decisions.begin());
  for (int64_t c = 0; c < classes; ++c) {
    for (int64_t v = m.first[c]; v < m.first[c + 1]; ++v) {
      const double likeness = m.kernel(row, m.support_vectors.data() + v * m.features, m.features);
      for (int64_t other = 0; other < classes; ++other) {
        if (other == c) continue;
        const int64_t machine = PairIndex(std::min(c, other), std::max(c, other), classes);
        const int64_t weights = other > c ? other - 1 : other;
        s.decisions[machine] += m.coefficients[weights * m.vectors + v] * likeness;
      }
    }
  }
  std::fill(s.votes.begin(), s.votes.end(), 0.0);
  int64_t machine = 0;
  for (int64_t i = 0; i < classes; ++i) {
    for (int64_t j = i + 1; j < classes; ++j) ++s.votes[s.decisions[machine++] > 0 ? i : j];
  }
  return std::max_element(s.votes.begin(), s.votes.end()) - s.votes.begin();
}

template <typename T>
int64_t DecideFeatures(const Machine& m, const T* row, Scratch& s) {
  for (int64_t c = 0; c < m.outline.classes(); ++c) {
    s.decisions[c] = DotProduct(row, m.coefficients.data() + c * m.features, m.features) + m.rho[0];
  }
  const auto best = std::max_element(s.decisions.begin(), s.decisions.end());
  // ONNX Runtime reads the best of two scores as that of the second class where it is above the
  // threshold of a single score; models are written for what it answers.
  const bool above = m.coefficients_are_positive ? *best >= 0.5 : *best > 0;
  if (m.outline.classes() == 2 && !m.outline.probabilities && above) return 1;
  return best - s.decisions.begin();
}

void Score(const Machine& m, Scratch& s) {
  const Outline& o = m.outline;
  if (o.couples()) {
    for (int64_t p = 0; p < o.pairs(); ++p) {
      s.decisions[p] = PairProbability(s.decisions[p], m.prob_a[p], m.prob_b[p]);
    }
    CouplePairs(s.decisions, s.scores, s.coupling);
  } else {
    std::copy(s.decisions.begin(), s.decisions.end(), s.scores.begin());
    if (o.pairwise && o.classes() == 2) {
      const bool raw = m.transform == PostTransform::kNone;
      return ExpandBinaryScore(m.transform, raw ? SecondScore::kNegated : SecondScore::kOneMinus,
                               s.scores);
    }
    // A single score is not normalized.
    if (o.scores() == 1 && m.transform != PostTransform::kProbit) return;
  }
  ApplyPostTransform(m.transform, s.scores);
}

template <typename T>
class ClassifierKernel final : public Kernel {
 public:
  ClassifierKernel(std::shared_ptr<const Machine> machine, int64_t rows, int threads)
      : machine_(std::move(machine)),
        rows_(rows),
        parts_(std::min<int64_t>(rows, std::max(threads, 1))) {}

  size_t workspace_bytes() const override {
    return parts_ * Scratch::Size(machine_->outline) * sizeof(double);
  }

  absl::Status Run(KernelContext& context) const override {
    context.threads().ParallelFor(parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        RunRows(context, part, rows_ * part / parts_, rows_ * (part + 1) / parts_);
      }
    });
    return absl::OkStatus();
  }

 private:
  void RunRows(KernelContext& context, int64_t part, int64_t begin, int64_t end) const {
    const Machine& m = *machine_;
    const Outline& o = m.outline;
    Scratch scratch(o, static_cast<double*>(context.workspace()) + part * Scratch::Size(o));
    for (int64_t r = begin; r < end; ++r) {
      const T* row = context.input(0).as<T>() + r * m.features;
      const int64_t winner =
          o.pairwise ? DecidePairs(m, row, scratch) : DecideFeatures(m, row, scratch);
      if (context.has_output(0)) o.labels.Write(winner, r, context.output(0));
      if (!context.has_output(1)) continue;
      Score(m, scratch);
      float* z = context.output(1).as<float>() + r * o.scores();
      for (const double score : scratch.scores) *z++ = static_cast<float>(score);
    }
  }

  std::shared_ptr<const Machine> machine_;
  int64_t rows_;
  int64_t parts_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const TableShape table, AsTable(spec.input(0).shape));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Machine> machine,
                   ParseAttributesOnce<Machine>(spec, ReadMachine));
  if (table.features != machine->features) {
    return absl::InvalidArgumentError(
        absl::StrCat("input X has ", table.features, " features, expected ", machine->features));
  }
  if (spec.has_output(1)) {
    RETURN_IF_ERROR(CheckOutputShape(spec, 1, Shape{table.rows, machine->outline.scores()}));
  }
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, int32_t, int64_t>(spec.input(0).type, [&]<typename T>() {
    kernel = std::make_unique<ClassifierKernel<T>>(machine, table.rows, spec.threads);
  });
  return kernel;
}

}  // namespace

void RegisterSvmClassifierOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.domain = "ai.onnx.ml",
                     .name = "SVMClassifier",
                     .version = 1,
                     .inputs = {{"X", "T1", kTableTypes}},
                     .outputs = {{"Y", "", {ElementType::kString, ElementType::kInt64}},
                                 {"Z", "", {ElementType::kFloat32}}},
                     .attributes = {{"classlabels_ints", Kind::kInts},
                                    {"classlabels_strings", Kind::kStrings},
                                    {"coefficients", Kind::kFloats},
                                    {"kernel_params", Kind::kFloats},
                                    {"kernel_type", Kind::kString},
                                    {"post_transform", Kind::kString},
                                    {"prob_a", Kind::kFloats},
                                    {"prob_b", Kind::kFloats},
                                    {"rho", Kind::kFloats},
                                    {"support_vectors", Kind::kFloats},
                                    {"vectors_per_class", Kind::kInts}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
