// Flags that say what to send to a model, shared by `infer` and `bench`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cpp/client.h"
#include "engine/command_line/arguments.h"

namespace inferd::client {

// Put these into a subcommand's table; BuildInputs reads them.
inline constexpr engine::FlagSpec kInputFlags[] = {
    {"--input", "NAME=FILE", "",
     "input from .npy, .pb, .png, .jpg or raw bytes; NAME=random makes values up. Repeatable; "
     "FILE alone serves a model of one input; a .json file is a whole request body"},
    {"--shape", "NAME=1x3x8x8", "", "shape of a made-up input with free dimensions; repeatable"},
    {"--batch", "N", "1", "size of the free first dimension of made-up inputs"},
    {"--image-invert", "", "", "dark pixels become large values"},
    {"--image-scale", "X", "1", "value of a full pixel, before mean and std"},
    {"--image-mean", "A,B,C", "", "subtracted, one per channel or one for all"},
    {"--image-std", "A,B,C", "", "divided by, one per channel or one for all"},
    {"--image-nhwc", "", "", "the input wants channels last"},
};

// The --input that is a whole request body, if there is one.
std::optional<std::string> JsonBody(const engine::Arguments& args);

// One tensor per input of the model: from --input where given, made up otherwise when
// `make_up_missing`; INVALID_ARGUMENT naming the missing inputs when not.
absl::StatusOr<std::vector<InferTensor>> BuildInputs(const ModelMetadata& model,
                                                     const engine::Arguments& args,
                                                     bool make_up_missing);

}  // namespace inferd::client
