// The support table of `inferplan check`: a row per operator of a model.
#pragma once

#include <string>
#include <vector>

#include "engine/inferplan/json_writer.h"
#include "engine/inferplan/provider_kernels.h"
#include "engine/onnx/import.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

struct SupportRow {
  OperatorUse use;
  // Of the operators it is imported as: providers and kernels that can run them. Which of these
  // runs a node depends on its shapes; see the plan.
  std::vector<ProviderKernels> providers;
  bool runs = false;
  std::string missing;  // everything that is, when it does not run
};

std::vector<SupportRow> SupportOf(const ModelSurvey& survey, const OpRegistry& registry);

std::string SupportTable(const std::vector<SupportRow>& rows);
void WriteSupport(JsonWriter& json, const std::vector<SupportRow>& rows);

}  // namespace inferd::engine
