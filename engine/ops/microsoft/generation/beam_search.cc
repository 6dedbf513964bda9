// com.microsoft BeamSearch and GreedySearch: generation with a decoder given as a body.
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/control_flow/bodies.h"
#include "engine/ops/microsoft/generation/beam_hypotheses.h"
#include "engine/ops/microsoft/generation/decoder.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr absl::string_view kDomain = "com.microsoft";
constexpr int kMaxBeams = 1024;
constexpr int kMaxLength = 1 << 20;
// Sequences searched at once: items of the batch times beams.
constexpr int64_t kMaxRows = 1 << 20;

// Where each operand of the two operators stands; -1: it has no such operand.
struct OperandPositions {
  int max_length = 1;
  int min_length = 2;
  int beams = -1;
  int returned = -1;
  int length_penalty = -1;
  int repetition_penalty = 3;
  int vocab_mask = 4;
  int prefix_vocab_mask = 5;
  int attention_mask = 6;
};
constexpr OperandPositions kBeamSearchOperands = {.max_length = 1,
                                                  .min_length = 2,
                                                  .beams = 3,
                                                  .returned = 4,
                                                  .length_penalty = 5,
                                                  .repetition_penalty = 6,
                                                  .vocab_mask = 7,
                                                  .prefix_vocab_mask = 8,
                                                  .attention_mask = 9};
constexpr OperandPositions kGreedySearchOperands = {};

struct Settings {
  int batch = 0;
  int max_length = 0;
  int beams = 1;
  int returned = 1;
  int pad_token = 0;
  int eos_token = -1;
  int64_t vocabulary = 0;  // 0: what the logits have
  float length_penalty = 1;
  bool early_stopping = false;
  ScoreRules rules;
};

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(BodyOf(context.node(), "decoder").status());
  context.SetOutput(0, ElementType::kInt32, {});
  context.SetOutput(1, ElementType::kFloat32, {});
  context.SetOutput(2, ElementType::kFloat32, {});
  return absl::OkStatus();
}

absl::Status InferGreedy(InferenceContext& context) {
  RETURN_IF_ERROR(BodyOf(context.node(), "decoder").status());
  context.SetOutput(0, ElementType::kInt32, SymbolicShape::OfRank(2));
  return absl::OkStatus();
}

// A scalar operand in [low, high]; `*value` stays where it is absent.
template <typename T>
absl::Status ReadScalar(KernelContext& context, int i, absl::string_view name, T low, T high,
                        T* value) {
  if (i < 0 || !context.has_input(i)) return absl::OkStatus();
  const TensorView& view = context.input(i);
  if (view.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has shape ", view.shape.ToString(), ", expected one element"));
  }
  *value = *view.as<T>();
  if (*value >= low && *value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", *value, ", expected ", low, " to ", high));
}

absl::Status ReadMask(KernelContext& context, int i, absl::string_view name, int64_t expected,
                      absl::Span<const int32_t>* mask) {
  if (i < 0 || !context.has_input(i)) return absl::OkStatus();
  const absl::Span<const int32_t> values = context.input(i).span<int32_t>();
  if (static_cast<int64_t>(values.size()) != expected) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has ", values.size(), " elements, expected ", expected, ", by the vocabulary"));
  }
  *mask = values;
  return absl::OkStatus();
}

absl::StatusOr<Settings> ReadSettings(KernelContext& context, const Node& node,
                                      const OperandPositions& at) {
  const Attributes& attributes = node.attributes();
  Settings s;
  const Shape& ids = context.input(0).shape;
  if (ids.rank() != 2 || ids[0] < 1 || ids[0] > kMaxRows) {
    return absl::InvalidArgumentError(
        absl::StrCat("input_ids has shape ", ids.ToString(),
                     ", expected [batch, length] with a batch of 1 to ", kMaxRows));
  }
  s.batch = static_cast<int>(ids[0]);
  s.pad_token = static_cast<int>(attributes.GetInt("pad_token_id", 0));
  s.eos_token = static_cast<int>(attributes.GetInt("eos_token_id", -1));
  s.early_stopping = attributes.GetInt("early_stopping", 0) != 0;
  s.vocabulary = std::max<int64_t>(0, attributes.GetInt("vocab_size", 0));
  s.rules.eos_token = s.eos_token;
  s.rules.no_repeat_ngram = static_cast<int>(attributes.GetInt("no_repeat_ngram_size", 0));
  RETURN_IF_ERROR(
      ReadScalar<int32_t>(context, at.max_length, "max_length", 1, kMaxLength, &s.max_length));
  RETURN_IF_ERROR(ReadScalar<int32_t>(context, at.min_length, "min_length", 0, kMaxLength,
                                      &s.rules.min_length));
  RETURN_IF_ERROR(ReadScalar<int32_t>(context, at.beams, "num_beams", 1, kMaxBeams, &s.beams));
  if (ids[0] * s.beams > kMaxRows) {
    return absl::InvalidArgumentError(absl::StrCat("a batch of ", s.batch, " with ", s.beams,
                                                   " beams each, expected at most ", kMaxRows,
                                                   " sequences in all"));
  }
  RETURN_IF_ERROR(
      ReadScalar<int32_t>(context, at.returned, "num_return_sequences", 1, s.beams, &s.returned));
  constexpr float kHuge = 1e6f;
  RETURN_IF_ERROR(ReadScalar<float>(context, at.length_penalty, "length_penalty", -kHuge, kHuge,
                                    &s.length_penalty));
  RETURN_IF_ERROR(ReadScalar<float>(context, at.repetition_penalty, "repetition_penalty", 1e-6f,
                                    kHuge, &s.rules.repetition_penalty));
  return s;
}

absl::StatusOr<std::unique_ptr<Decoder>> MakeDecoder(KernelContext& context, const Node& node,
                                                     const OperandPositions& at,
                                                     const Settings& settings) {
  const int64_t kind = node.attributes().GetInt("model_type", 0);
  if (kind != 0 && kind != 1) {
    return absl::UnimplementedError(
        absl::StrCat("attribute 'model_type' is ", kind,
                     "; supported are 0 (decoder only) and 1 (encoder-decoder)"));
  }
  DecoderInputs inputs;
  inputs.context = &context;
  inputs.node = &node;
  inputs.kind = kind == 0 ? DecoderKind::kDecoderOnly : DecoderKind::kEncoderDecoder;
  inputs.input_ids = context.input(0);
  if (context.has_input(at.attention_mask)) {
    inputs.attention_mask = context.input(at.attention_mask);
  }
  inputs.beams = settings.beams;
  inputs.pad_token = settings.pad_token;
  inputs.start_token = static_cast<int>(node.attributes().GetInt("decoder_start_token_id", 0));
  return Decoder::Make(inputs);
}

// The state of one search over batch * beams rows.
class Search {
 public:
  Search(KernelContext& context, const OperandPositions& at, Settings settings, Decoder& decoder)
      : context_(context),
        at_(at),
        settings_(std::move(settings)),
        decoder_(decoder),
        sequences_(decoder.InitialSequences()),
        rows_(static_cast<int>(sequences_.size())),
        sums_(rows_, 0),
        parents_(rows_),
        tokens_(rows_) {
    // Beams of one item start equal: only the first may count, or all would stay equal.
    for (int r = 0; r < rows_; ++r) sums_[r] = r % settings_.beams == 0 ? 0.0f : -1e9f;
    for (int b = 0; b < settings_.batch; ++b) {
      hypotheses_.emplace_back(settings_.beams, settings_.length_penalty, settings_.early_stopping);
    }
    done_.assign(settings_.batch, false);
  }

  // `scores`, when given, takes what every step ranked tokens by.
  absl::Status Run(std::vector<std::vector<float>>* scores) {
    if (length() >= settings_.max_length) {
      return absl::InvalidArgumentError(absl::StrCat(
          "max_length is ", settings_.max_length, ", the prompt alone has ", length(), " tokens"));
    }
    ASSIGN_OR_RETURN(Tensor logits, decoder_.First());
    for (int step = 0;; ++step) {
      RETURN_IF_ERROR(Advance(logits.view(), step, scores));
      const bool all_done = std::all_of(done_.begin(), done_.end(), [](bool done) { return done; });
      if (all_done || length() >= settings_.max_length) break;
      ASSIGN_OR_RETURN(logits, decoder_.Next(tokens_, parents_));
    }
    for (int b = 0; b < settings_.batch; ++b) {
      if (done_[b]) continue;
      for (int r = b * settings_.beams; r < (b + 1) * settings_.beams; ++r) {
        hypotheses_[b].Add(sequences_[r], sums_[r]);
      }
    }
    return absl::OkStatus();
  }

  const std::vector<BeamHypotheses>& hypotheses() const { return hypotheses_; }
  const Settings& settings() const { return settings_; }
  int64_t vocabulary() const { return settings_.vocabulary; }

 private:
  int length() const { return static_cast<int>(sequences_[0].size()); }

  absl::Status Advance(const TensorView& logits, int step,
                       std::vector<std::vector<float>>* scores) {
    if (step == 0) {
      const int64_t found = logits.shape.rank() == 3 ? logits.shape[2] : 0;
      if (settings_.vocabulary == 0) settings_.vocabulary = found;
      RETURN_IF_ERROR(ReadMask(context_, at_.vocab_mask, "vocab_mask", settings_.vocabulary,
                               &settings_.rules.vocab_mask));
      RETURN_IF_ERROR(ReadMask(context_, at_.prefix_vocab_mask, "prefix_vocab_mask",
                               settings_.batch * settings_.vocabulary,
                               &settings_.rules.prefix_vocab_mask));
    }
    RETURN_IF_ERROR(LogProbabilitiesOfLast(logits, rows_, settings_.vocabulary, &scores_));
    ApplyScoreRules(settings_.rules, sequences_, settings_.batch, step, &scores_);
    for (int r = 0; r < rows_; ++r) {
      float* row = scores_.data() + r * settings_.vocabulary;
      for (int64_t t = 0; t < settings_.vocabulary; ++t) row[t] += sums_[r];
    }
    if (scores != nullptr) scores->push_back(scores_);
    for (int b = 0; b < settings_.batch; ++b) RETURN_IF_ERROR(AdvanceItem(b));

    Sequences next(rows_);
    for (int r = 0; r < rows_; ++r) {
      next[r] = sequences_[parents_[r]];
      next[r].push_back(tokens_[r]);
    }
    sequences_ = std::move(next);
    return absl::OkStatus();
  }

  // Chooses the next tokens of one item from its best candidates. Twice as many as beams are
  // looked at, since each beam may offer its end.
  absl::Status AdvanceItem(int b) {
    const int beams = settings_.beams;
    const int first = b * beams;
    if (done_[b]) {
      for (int r = first; r < first + beams; ++r) {
        sums_[r] = 0;
        tokens_[r] = settings_.pad_token;
        parents_[r] = first;
      }
      return absl::OkStatus();
    }
    const int64_t candidates = beams * settings_.vocabulary;
    const float* scores = scores_.data() + first * settings_.vocabulary;
    order_.resize(candidates);
    std::iota(order_.begin(), order_.end(), int64_t{0});
    const int64_t wanted = std::min<int64_t>(2 * beams, candidates);
    std::partial_sort(order_.begin(), order_.begin() + wanted, order_.end(),
                      [&](int64_t x, int64_t y) {
                        return scores[x] != scores[y] ? scores[x] > scores[y] : x < y;
                      });
    std::vector<float> sums;
    int beam = 0;
    for (int64_t j = 0; j < wanted && beam < beams; ++j) {
      const auto token = static_cast<int32_t>(order_[j] % settings_.vocabulary);
      const int row = first + static_cast<int>(order_[j] / settings_.vocabulary);
      const float sum = scores[order_[j]];
      if (settings_.eos_token >= 0 && token == settings_.eos_token) {
        if (j < beams) hypotheses_[b].Add(sequences_[row], sum);
        continue;
      }
      tokens_[first + beam] = token;
      parents_[first + beam] = row;
      sums.push_back(sum);
      ++beam;
    }
    if (beam < beams) {
      return absl::InvalidArgumentError(absl::StrCat("a vocabulary of ", settings_.vocabulary,
                                                     " tokens cannot fill ", beams, " beams"));
    }
    std::copy(sums.begin(), sums.end(), sums_.begin() + first);
    done_[b] = hypotheses_[b].IsDone(scores[order_[0]], length());
    return absl::OkStatus();
  }

  KernelContext& context_;
  const OperandPositions& at_;
  Settings settings_;
  Decoder& decoder_;
  Sequences sequences_;
  const int rows_;
  std::vector<float> sums_;  // of log probabilities, per row
  std::vector<int> parents_;
  std::vector<int32_t> tokens_;
  std::vector<BeamHypotheses> hypotheses_;  // per item
  std::vector<bool> done_;
  std::vector<float> scores_;
  std::vector<int64_t> order_;
};

absl::Status DeliverBeams(KernelContext& context, const Search& search,
                          const std::vector<std::vector<float>>& scores, int64_t prompt) {
  const Settings& s = search.settings();
  ASSIGN_OR_RETURN(Tensor sequences,
                   Tensor::Allocate(ElementType::kInt32, {s.batch, s.returned, s.max_length}));
  ASSIGN_OR_RETURN(Tensor best, Tensor::Allocate(ElementType::kFloat32, {s.batch, s.returned}));
  int32_t* out = sequences.mutable_data<int32_t>();
  std::fill_n(out, sequences.num_elements(), s.pad_token);
  for (int b = 0; b < s.batch; ++b) {
    for (int i = 0; i < s.returned; ++i) {
      const Hypothesis& hypothesis = search.hypotheses()[b].sorted()[i];
      const int64_t at = b * s.returned + i;
      std::copy(hypothesis.tokens.begin(), hypothesis.tokens.end(), out + at * s.max_length);
      best.mutable_data<float>()[at] = hypothesis.score;
    }
  }
  RETURN_IF_ERROR(context.SetOutput(0, std::move(sequences)));
  RETURN_IF_ERROR(context.SetOutput(1, std::move(best)));
  if (!context.has_output(2)) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      Tensor all, Tensor::Allocate(ElementType::kFloat32,
                                   {s.max_length - prompt, s.batch, s.beams, search.vocabulary()}));
  float* to = all.mutable_data<float>();
  std::fill_n(to, all.num_elements(), 0.0f);
  for (const std::vector<float>& step : scores) to = std::copy(step.begin(), step.end(), to);
  return context.SetOutput(2, std::move(all));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeBeamSearch(const NodeSpec& spec) {
  // The graph outlives its kernels.
  return MakeKernel([node = spec.node](KernelContext& context) -> absl::Status {
    const OperandPositions& at = kBeamSearchOperands;
    for (int unsupported : {10, 11}) {
      if (context.has_input(unsupported) &&
          unsupported < context.num_inputs() - NumCaptures(*node, context.num_inputs())) {
        return absl::UnimplementedError(
            absl::StrCat("input ", unsupported,
                         unsupported == 10 ? " (decoder_input_ids)" : " (logits_processor)",
                         " is not supported; leave it out"));
      }
    }
    ASSIGN_OR_RETURN(Settings settings, ReadSettings(context, *node, at));
    ASSIGN_OR_RETURN(std::unique_ptr<Decoder> decoder, MakeDecoder(context, *node, at, settings));
    const auto prompt = static_cast<int64_t>(decoder->InitialSequences()[0].size());
    Search search(context, at, std::move(settings), *decoder);
    std::vector<std::vector<float>> scores;
    RETURN_IF_ERROR(search.Run(context.has_output(2) ? &scores : nullptr));
    return DeliverBeams(context, search, scores, prompt);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGreedySearch(const NodeSpec& spec) {
  return MakeKernel([node = spec.node](KernelContext& context) -> absl::Status {
    const OperandPositions& at = kGreedySearchOperands;
    ASSIGN_OR_RETURN(Settings settings, ReadSettings(context, *node, at));
    ASSIGN_OR_RETURN(std::unique_ptr<Decoder> decoder, MakeDecoder(context, *node, at, settings));
    Sequences sequences = decoder->InitialSequences();
    const auto rows = static_cast<int>(sequences.size());
    std::vector<int> parents(rows);
    std::iota(parents.begin(), parents.end(), 0);
    std::vector<int32_t> tokens(rows);
    std::vector<bool> done(rows, false);
    std::vector<float> scores;
    ASSIGN_OR_RETURN(Tensor logits, decoder->First());
    for (int step = 0; static_cast<int>(sequences[0].size()) < settings.max_length; ++step) {
      if (settings.vocabulary == 0 && logits.shape().rank() == 3) {
        settings.vocabulary = logits.shape()[2];
      }
      if (step == 0) {
        RETURN_IF_ERROR(ReadMask(context, at.vocab_mask, "vocab_mask", settings.vocabulary,
                                 &settings.rules.vocab_mask));
        RETURN_IF_ERROR(ReadMask(context, at.prefix_vocab_mask, "prefix_vocab_mask",
                                 settings.batch * settings.vocabulary,
                                 &settings.rules.prefix_vocab_mask));
      }
      // Unlike beam search, which sums them up, greedy search ranks the logits as they are.
      RETURN_IF_ERROR(LogitsOfLast(logits.view(), rows, settings.vocabulary, &scores));
      ApplyScoreRules(settings.rules, sequences, settings.batch, step, &scores);
      for (int r = 0; r < rows; ++r) {
        const auto row = scores.begin() + r * settings.vocabulary;
        const auto best = std::max_element(row, row + settings.vocabulary) - row;
        // What comes after the end is padding.
        tokens[r] = done[r] ? settings.pad_token : static_cast<int32_t>(best);
        if (tokens[r] == settings.eos_token) {
          done[r] = true;
          tokens[r] = settings.pad_token;
        }
        sequences[r].push_back(tokens[r]);
      }
      if (std::all_of(done.begin(), done.end(), [](bool d) { return d; })) break;
      if (static_cast<int>(sequences[0].size()) >= settings.max_length) break;
      ASSIGN_OR_RETURN(logits, decoder->Next(tokens, parents));
    }
    ASSIGN_OR_RETURN(Tensor result,
                     Tensor::Allocate(ElementType::kInt32, {rows, settings.max_length}));
    std::fill_n(result.mutable_data<int32_t>(), result.num_elements(), settings.pad_token);
    for (int r = 0; r < rows; ++r) {
      const auto count = std::min<size_t>(sequences[r].size(), settings.max_length);
      std::copy_n(sequences[r].begin(), count,
                  result.mutable_data<int32_t>() + r * settings.max_length);
    }
    return context.SetOutput(0, std::move(result));
  });
}

std::vector<AttributeSpec> GenerationAttributes() {
  using Kind = AttributeSpec::Kind;
  return {{"eos_token_id", Kind::kInt, true},
          {"pad_token_id", Kind::kInt, true},
          {"decoder_start_token_id", Kind::kInt},
          {"no_repeat_ngram_size", Kind::kInt},
          {"model_type", Kind::kInt},
          {"vocab_size", Kind::kInt},
          {"decoder", Kind::kGraph, true},
          {"encoder", Kind::kGraph},
          {"init_decoder", Kind::kGraph},
          kCapturesSpec};
}

}  // namespace

void RegisterGenerationOps(OpRegistry& registry) {
  constexpr ElementTypeSet kInt = {ElementType::kInt32};
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32};
  OpDef beam;
  beam.domain = kDomain;
  beam.name = "BeamSearch";
  beam.inputs = {RequiredParameter("input_ids", "", kInt),
                 RequiredParameter("max_length", "", kInt),
                 OptionalParameter("min_length", "", kInt),
                 RequiredParameter("num_beams", "", kInt),
                 RequiredParameter("num_return_sequences", "", kInt),
                 OptionalParameter("length_penalty", "", kFloat),
                 OptionalParameter("repetition_penalty", "", kFloat),
                 OptionalParameter("vocab_mask", "", kInt),
                 OptionalParameter("prefix_vocab_mask", "", kInt),
                 OptionalParameter("attention_mask", "", kInt),
                 OptionalParameter("decoder_input_ids", "", kInt),
                 OptionalParameter("logits_processor", "", kInt),
                 RepeatedParameter("captured", "", {})};
  beam.outputs = {RequiredParameter("sequences", "", kInt),
                  OptionalParameter("sequences_scores", "", kFloat),
                  OptionalParameter("scores", "", kFloat)};
  beam.attributes = GenerationAttributes();
  beam.attributes.push_back({"early_stopping", AttributeSpec::Kind::kInt});
  beam.infer = Infer;
  beam.reference = MakeBeamSearch;
  beam.dynamic_outputs = true;
  registry.Register(std::move(beam));

  OpDef greedy;
  greedy.domain = kDomain;
  greedy.name = "GreedySearch";
  greedy.inputs = {RequiredParameter("input_ids", "", kInt),
                   RequiredParameter("max_length", "", kInt),
                   OptionalParameter("min_length", "", kInt),
                   OptionalParameter("repetition_penalty", "", kFloat),
                   OptionalParameter("vocab_mask", "", kInt),
                   OptionalParameter("prefix_vocab_mask", "", kInt),
                   OptionalParameter("attention_mask", "", kInt),
                   RepeatedParameter("captured", "", {})};
  greedy.outputs = {RequiredParameter("sequences", "", kInt)};
  greedy.attributes = GenerationAttributes();
  greedy.infer = InferGreedy;
  greedy.reference = MakeGreedySearch;
  greedy.dynamic_outputs = true;
  registry.Register(std::move(greedy));
}

}  // namespace inferd::engine
