#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"

namespace inferd::engine {
namespace {

// The attribute said whether output Y is wanted; its presence says so too.
absl::Status DropOutputSequence(NodeAdapter& node) {
  node.attributes.Erase("output_sequence");
  // The standard's own default was misspelt in the first version of GRU.
  if (node.attributes.GetString("direction", "") == "foward") node.attributes.Erase("direction");
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"", "RNN", 1, DropOutputSequence},  {"", "RNN", 7, nullptr},
    {"", "GRU", 1, DropOutputSequence},  {"", "GRU", 7, nullptr},
    {"", "LSTM", 1, DropOutputSequence}, {"", "LSTM", 7, nullptr},
};

}  // namespace

absl::Span<const OpsetRule> RecurrentRules() { return kRules; }

}  // namespace inferd::engine
