#include "engine/ops/microsoft/generation/decoder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/ops/control_flow/bodies.h"
#include "engine/ops/element_copy.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Slices of `source` along `axis`, chosen by `rows`.
absl::StatusOr<Tensor> SelectRows(const TensorView& source, int axis, absl::Span<const int> rows) {
  if (source.shape.rank() <= axis) {
    return absl::InvalidArgumentError(absl::StrCat("a cache has shape ", source.shape.ToString(),
                                                   ", expected rank above ", axis));
  }
  Shape shape = source.shape;
  shape[axis] = static_cast<int64_t>(rows.size());
  ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(source.type, shape));
  const int64_t outer = shape.Product(0, axis);
  const int64_t inner = shape.Product(axis + 1, shape.rank());
  const int64_t extent = source.shape[axis];
  const ElementCopier copier(source.type);
  for (int64_t o = 0; o < outer; ++o) {
    for (size_t r = 0; r < rows.size(); ++r) {
      if (rows[r] >= extent) {
        return absl::InvalidArgumentError(
            absl::StrCat("a cache has ", extent, " rows, expected ", rows[r] + 1, " or more"));
      }
      copier.Copy(source.data, (o * extent + rows[r]) * inner, result.view().data,
                  (o * static_cast<int64_t>(rows.size()) + static_cast<int64_t>(r)) * inner, inner);
    }
  }
  return result;
}

// Row r of `rows` is item r / beams.
std::vector<int> Repeated(int64_t items, int beams) {
  std::vector<int> rows;
  for (int64_t i = 0; i < items * beams; ++i) rows.push_back(static_cast<int>(i / beams));
  return rows;
}

absl::StatusOr<Tensor> IntMatrix(int64_t rows, int64_t columns,
                                 const std::vector<int32_t>& values) {
  ASSIGN_OR_RETURN(Tensor matrix, Tensor::Allocate(ElementType::kInt32, {rows, columns}));
  std::copy(values.begin(), values.end(), matrix.mutable_data<int32_t>());
  return matrix;
}

bool SelectionIsIdentity(absl::Span<const int> parents) {
  for (size_t i = 0; i < parents.size(); ++i) {
    if (parents[i] != static_cast<int>(i)) return false;
  }
  return true;
}

// 1 where a token counts. Padding in front of an item does not; a pad token further on may be
// the end token, so it does.
std::vector<int32_t> MaskOfPrompt(const DecoderInputs& in) {
  const int64_t batch = in.input_ids.shape[0];
  const int64_t length = in.input_ids.shape[1];
  std::vector<int32_t> mask(batch * length, 1);
  if (in.attention_mask.type != ElementType::kUndefined) {
    const int32_t* given = in.attention_mask.as<int32_t>();
    std::copy_n(given, batch * length, mask.begin());
    return mask;
  }
  const int32_t* ids = in.input_ids.as<int32_t>();
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t t = 0; t < length && ids[b * length + t] == in.pad_token; ++t) {
      mask[b * length + t] = 0;
    }
  }
  return mask;
}

std::vector<TensorView> WithCaptures(const DecoderInputs& in, std::vector<TensorView> inputs) {
  const int captures = NumCaptures(*in.node, in.context->num_inputs());
  for (int i = 0; i < captures; ++i) {
    inputs.push_back(in.context->input(in.context->num_inputs() - captures + i));
  }
  return inputs;
}

// A decoder-only body: input_ids, position_ids, attention_mask, past_0, ... -> logits, present_0,
// ... Caches are [2, rows, heads, length, head size].
class DecoderOnly final : public Decoder {
 public:
  static constexpr int kFirstPast = 3;
  static constexpr int kRowAxis = 1;

  static absl::StatusOr<std::unique_ptr<Decoder>> Make(const DecoderInputs& in) {
    ASSIGN_OR_RETURN(const Graph* body, BodyOf(*in.node, "decoder"));
    const int captures = NumCaptures(*in.node, in.context->num_inputs());
    const int layers = static_cast<int>(body->outputs().size()) - 1;
    if (layers < 1) {
      return absl::InvalidArgumentError("graph 'decoder' has no caches among its outputs");
    }
    RETURN_IF_ERROR(ExpectBodyInputs(*body, "decoder", kFirstPast + layers + captures));
    if (in.node->attributes().has("init_decoder")) {
      ASSIGN_OR_RETURN(const Graph* first, BodyOf(*in.node, "init_decoder"));
      RETURN_IF_ERROR(
          ExpectBodyInputs(*first, "init_decoder", static_cast<int>(body->inputs().size())));
      RETURN_IF_ERROR(
          ExpectBodyOutputs(*first, "init_decoder", static_cast<int>(body->outputs().size())));
    }
    auto decoder = std::unique_ptr<DecoderOnly>(new DecoderOnly(in));
    const int64_t rows = in.input_ids.shape[0] * in.beams;
    for (int i = 0; i < layers; ++i) {
      const ValueType& type = body->inputs()[kFirstPast + i]->type();
      const SymbolicShape& shape = type.shape;
      if (!shape.has_rank() || shape.rank() != 5 || !shape[2].known() || !shape[4].known()) {
        return absl::UnimplementedError(absl::StrCat(
            "graph 'decoder' declares cache ", i, " as ", type.ToString(),
            ", expected [2, batch, heads, length, head size] with heads and head size given"));
      }
      ASSIGN_OR_RETURN(Tensor empty, Tensor::Allocate(type.element, {2, rows, shape[2].value(), 0,
                                                                     shape[4].value()}));
      decoder->caches_.push_back(std::move(empty));
    }
    return decoder;
  }

  Sequences InitialSequences() const override {
    const int64_t length = in_.input_ids.shape[1];
    const int32_t* ids = in_.input_ids.as<int32_t>();
    Sequences sequences;
    for (int item : Repeated(in_.input_ids.shape[0], in_.beams)) {
      sequences.emplace_back(ids + item * length, ids + (item + 1) * length);
    }
    return sequences;
  }

  absl::StatusOr<Tensor> First() override {
    const int64_t length = in_.input_ids.shape[1];
    const std::vector<int32_t> mask = MaskOfPrompt(in_);
    std::vector<int32_t> ids, positions;
    for (const std::vector<int32_t>& row : InitialSequences()) {
      ids.insert(ids.end(), row.begin(), row.end());
    }
    for (int item : Repeated(in_.input_ids.shape[0], in_.beams)) {
      masks_.emplace_back(mask.begin() + item * length, mask.begin() + (item + 1) * length);
      int32_t position = 0;
      for (int64_t t = 0; t < length; ++t) {
        positions.push_back(position);
        position += masks_.back()[t] != 0;
      }
      next_positions_.push_back(position);
    }
    // A model may have a graph of its own for the prompt, which reads and gives the same values.
    const bool own_graph = in_.node->attributes().has("init_decoder");
    return Run(own_graph ? "init_decoder" : "decoder", ids, positions, length);
  }

  absl::StatusOr<Tensor> Next(absl::Span<const int32_t> tokens,
                              absl::Span<const int> parents) override {
    // Beams of one item share their prompt, so masks and positions need no reordering.
    if (!SelectionIsIdentity(parents)) {
      for (Tensor& cache : caches_) {
        ASSIGN_OR_RETURN(cache, SelectRows(cache.view(), kRowAxis, parents));
      }
    }
    std::vector<int32_t> positions = next_positions_;
    for (int32_t& position : next_positions_) ++position;
    for (std::vector<int32_t>& mask : masks_) mask.push_back(1);
    return Run("decoder", {tokens.begin(), tokens.end()}, positions, 1);
  }

 private:
  explicit DecoderOnly(const DecoderInputs& in) : in_(in) {}

  absl::StatusOr<Tensor> Run(absl::string_view body, const std::vector<int32_t>& ids,
                             const std::vector<int32_t>& positions, int64_t length) {
    const auto rows = static_cast<int64_t>(masks_.size());
    std::vector<int32_t> mask;
    for (const std::vector<int32_t>& row : masks_) mask.insert(mask.end(), row.begin(), row.end());
    ASSIGN_OR_RETURN(const Tensor id_tensor, IntMatrix(rows, length, ids));
    ASSIGN_OR_RETURN(const Tensor position_tensor, IntMatrix(rows, length, positions));
    const int64_t columns = static_cast<int64_t>(mask.size()) / std::max<int64_t>(rows, 1);
    ASSIGN_OR_RETURN(const Tensor mask_tensor, IntMatrix(rows, columns, mask));
    std::vector<TensorView> inputs = {id_tensor.view(), position_tensor.view(), mask_tensor.view()};
    for (const Tensor& cache : caches_) inputs.push_back(cache.view());
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(in_.context->RunBody(body, WithCaptures(in_, std::move(inputs)), &outputs));
    for (size_t i = 0; i < caches_.size(); ++i) caches_[i] = std::move(outputs[1 + i]);
    return std::move(outputs[0]);
  }

  const DecoderInputs in_;
  std::vector<Tensor> caches_;
  std::vector<std::vector<int32_t>> masks_;  // per row: 1 for each token that counts
  std::vector<int32_t> next_positions_;
};

// An encoder body (ids, mask, start tokens -> logits, hidden states, self caches, cross caches)
// and a decoder body (ids, mask, [hidden states,] self caches, cross caches -> logits, self
// caches). Caches are [rows, heads, length, head size].
class EncoderDecoder final : public Decoder {
 public:
  static absl::StatusOr<std::unique_ptr<Decoder>> Make(const DecoderInputs& in) {
    ASSIGN_OR_RETURN(const Graph* encoder, BodyOf(*in.node, "encoder"));
    ASSIGN_OR_RETURN(const Graph* decoder, BodyOf(*in.node, "decoder"));
    const int captures = NumCaptures(*in.node, in.context->num_inputs());
    const int encoder_inputs = static_cast<int>(encoder->inputs().size()) - captures;
    const int encoder_caches = static_cast<int>(encoder->outputs().size()) - 2;
    if (encoder_inputs != 3 || encoder_caches < 4 || encoder_caches % 4 != 0) {
      return absl::UnimplementedError(absl::StrCat(
          "graph 'encoder' has ", encoder_inputs, " inputs and ", encoder->outputs().size(),
          " outputs; supported is the form with ids, mask and start tokens in, and logits, hidden "
          "states and four caches per layer out"));
    }
    auto made = std::unique_ptr<EncoderDecoder>(new EncoderDecoder(in));
    made->self_caches_ = encoder_caches / 2;
    const int decoder_inputs = static_cast<int>(decoder->inputs().size()) - captures;
    const int before_caches = decoder_inputs - encoder_caches;
    if (before_caches != 2 && before_caches != 3) {
      return absl::UnimplementedError(absl::StrCat(
          "graph 'decoder' has ", decoder_inputs, " inputs, expected ", 2 + encoder_caches, " or ",
          3 + encoder_caches, ": ids, mask, perhaps hidden states, and the encoder's caches"));
    }
    made->takes_hidden_states_ = before_caches == 3;
    RETURN_IF_ERROR(ExpectBodyOutputs(*decoder, "decoder", 1 + made->self_caches_));
    return made;
  }

  Sequences InitialSequences() const override {
    return Sequences(in_.input_ids.shape[0] * in_.beams, {in_.start_token});
  }

  absl::StatusOr<Tensor> First() override {
    const int64_t batch = in_.input_ids.shape[0];
    const int64_t length = in_.input_ids.shape[1];
    ASSIGN_OR_RETURN(const Tensor mask, IntMatrix(batch, length, MaskOfPrompt(in_)));
    ASSIGN_OR_RETURN(
        const Tensor start,
        IntMatrix(batch, 1, std::vector<int32_t>(static_cast<size_t>(batch), in_.start_token)));
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(in_.context->RunBody(
        "encoder", WithCaptures(in_, {in_.input_ids, mask.view(), start.view()}), &outputs));
    const std::vector<int> rows = Repeated(batch, in_.beams);
    ASSIGN_OR_RETURN(mask_, SelectRows(mask.view(), 0, rows));
    ASSIGN_OR_RETURN(hidden_states_, SelectRows(outputs[1].view(), 0, rows));
    for (size_t i = 2; i < outputs.size(); ++i) {
      ASSIGN_OR_RETURN(Tensor cache, SelectRows(outputs[i].view(), 0, rows));
      caches_.push_back(std::move(cache));
    }
    return SelectRows(outputs[0].view(), 0, rows);
  }

  absl::StatusOr<Tensor> Next(absl::Span<const int32_t> tokens,
                              absl::Span<const int> parents) override {
    // Cross caches follow from the prompt alone, which beams of one item share.
    if (!SelectionIsIdentity(parents)) {
      for (int i = 0; i < self_caches_; ++i) {
        ASSIGN_OR_RETURN(caches_[i], SelectRows(caches_[i].view(), 0, parents));
      }
    }
    ASSIGN_OR_RETURN(const Tensor ids,
                     IntMatrix(static_cast<int64_t>(tokens.size()), 1,
                               std::vector<int32_t>(tokens.begin(), tokens.end())));
    std::vector<TensorView> inputs = {ids.view(), mask_.view()};
    if (takes_hidden_states_) inputs.push_back(hidden_states_.view());
    for (const Tensor& cache : caches_) inputs.push_back(cache.view());
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(
        in_.context->RunBody("decoder", WithCaptures(in_, std::move(inputs)), &outputs));
    for (int i = 0; i < self_caches_; ++i) caches_[i] = std::move(outputs[1 + i]);
    return std::move(outputs[0]);
  }

 private:
  explicit EncoderDecoder(const DecoderInputs& in) : in_(in) {}

  const DecoderInputs in_;
  int self_caches_ = 0;
  bool takes_hidden_states_ = false;
  Tensor mask_;
  Tensor hidden_states_;
  std::vector<Tensor> caches_;  // self caches, then cross caches
};

}  // namespace

absl::StatusOr<std::unique_ptr<Decoder>> Decoder::Make(const DecoderInputs& inputs) {
  if (inputs.input_ids.shape.rank() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input_ids has shape ", inputs.input_ids.shape.ToString(), ", expected [batch, length]"));
  }
  if (inputs.attention_mask.type != ElementType::kUndefined &&
      !(inputs.attention_mask.shape == inputs.input_ids.shape)) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention_mask has shape ", inputs.attention_mask.shape.ToString(),
                     ", expected that of input_ids, ", inputs.input_ids.shape.ToString()));
  }
  return inputs.kind == DecoderKind::kDecoderOnly ? DecoderOnly::Make(inputs)
                                                  : EncoderDecoder::Make(inputs);
}

}  // namespace inferd::engine
