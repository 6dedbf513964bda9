#include <cstdio>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cpp/client.h"
#include "clients/inferctl/command.h"
#include "clients/inferctl/file.h"
#include "clients/inferctl/input_flags.h"
#include "clients/inferctl/npy_file.h"
#include "engine/status_macros.h"

namespace inferd::client {
namespace {

// Up to this many elements of an output are printed.
constexpr size_t kShown = 64;

template <typename T>
std::string ElementsText(const InferTensor& tensor) {
  const absl::Span<const T> values = tensor.values<T>();
  std::string text =
      absl::StrJoin(values.subspan(0, kShown), ", ", [](std::string* out, const T& v) {
        absl::StrAppend(out, static_cast<engine::ComputeType<T>>(v));
      });
  if (values.size() > kShown) absl::StrAppend(&text, ", ... ", values.size(), " in all");
  return text;
}

absl::StatusOr<std::string> Elements(const InferTensor& tensor) {
  const auto type = server::DatatypeFromName(tensor.datatype);
  if (!type.has_value()) {
    return absl::InternalError(
        absl::StrCat("output '", tensor.name, "' has unknown datatype ", tensor.datatype));
  }
  if (*type == engine::ElementType::kString) {
    ASSIGN_OR_RETURN(const std::vector<std::string> strings, tensor.strings());
    return absl::StrJoin(strings, ", ", [](std::string* out, const std::string& s) {
      absl::StrAppend(out, "\"", absl::CEscape(s), "\"");
    });
  }
  std::string text;
  engine::DispatchType<float, double, engine::Float16, engine::BFloat16, uint16_t, int16_t,
                       uint32_t, int32_t, uint64_t, int64_t>(
      *type, [&]<typename T>() { text = ElementsText<T>(tensor); });
  // One-byte elements are numbers, not characters.
  engine::DispatchType<uint8_t, int8_t, bool>(*type, [&]<typename T>() {
    text = absl::StrJoin(tensor.values<T>().subspan(0, kShown), ", ",
                         [](std::string* out, T v) { absl::StrAppend(out, static_cast<int>(v)); });
  });
  return text;
}

}  // namespace

absl::Status InferCommand(absl::Span<char* const> arguments) {
  std::vector<FlagSpec> flags(std::begin(kInputFlags), std::end(kInputFlags));
  flags.push_back({"--version", "V", "", "model version; the newest by default"});
  flags.push_back({"--output", "NAME", "", "only this output; repeatable"});
  flags.push_back({"--output-dir", "DIR", "", "also write outputs there as .npy"});
  flags.push_back({"--timeout", "DURATION", "60s", "bound on the call"});
  flags.push_back(kUrlFlag);
  flags.push_back(kHelpFlag);
  ASSIGN_OR_RETURN(const Arguments args, Arguments::Parse(flags, arguments));
  if (args.has("--help")) {
    std::fputs(Arguments::Help("inferctl infer MODEL --input FILE [flags]", flags).c_str(), stdout);
    return absl::OkStatus();
  }
  if (args.positional().size() != 1) return absl::InvalidArgumentError("name one model");
  ASSIGN_OR_RETURN(const auto client, Client::Connect({.target = args.Get("--url")}));

  InferRequest request{.model = args.positional()[0], .version = args.Get("--version")};
  ASSIGN_OR_RETURN(request.timeout, args.GetDuration("--timeout"));
  ASSIGN_OR_RETURN(const ModelMetadata metadata,
                   client->GetModelMetadata(request.model, request.version));
  ASSIGN_OR_RETURN(request.inputs, BuildInputs(metadata, args, /*make_up_missing=*/false));
  request.outputs = args.All("--output");
  ASSIGN_OR_RETURN(const InferResult result, client->Infer(request));
  for (const InferTensor& output : result.outputs) {
    ASSIGN_OR_RETURN(const std::string elements, Elements(output));
    std::printf("%s %s[%s]: %s\n", output.name.c_str(), output.datatype.c_str(),
                absl::StrJoin(output.shape, ",").c_str(), elements.c_str());
    if (!args.has("--output-dir")) continue;
    const auto type = server::DatatypeFromName(output.datatype);
    ASSIGN_OR_RETURN(const std::string npy, FormatNpy(*type, output.shape, output.data));
    RETURN_IF_ERROR(
        WriteFile(absl::StrCat(args.Get("--output-dir"), "/", output.name, ".npy"), npy));
  }
  return absl::OkStatus();
}

}  // namespace inferd::client
