// Any bytes as config.yaml: a refusal or a configuration, and what is accepted is written so that
// it is accepted again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "model_repository/model_config.h"
#include "tests/fuzz/mutating_driver.h"

namespace inferd::fuzz {

std::vector<std::string> SeedInputs() {
  return {
      "latency_budget: 20ms\nmax_batch_size: 32\n"
      "instances:\n  - {device: cuda, count: 2}\n  - {device: \"cuda:1\", threads: 3}\n"
      "providers: [cuda, cpu]\nprecision: int8\n"
      "batching: {max_delay: 2ms, preferred_sizes: [8, 16], preserve_order: true}\n"
      "queue: {max_requests: 500, max_bytes: 64MiB, timeout: 100ms, on_timeout: reject}\n"
      "versions: {latest: 2}\n",
      "{\"max_batch_size\": 4, \"versions\": [3, 1]}",
      "queue:\n  max_bytes: 1.5GB\n  priorities: 2\n---\n",
      "a: &a [x, *a]\nb: |\n  text\nc: !!str ~\n"};
}

}  // namespace inferd::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using inferd::repository::FormatModelConfig;
  using inferd::repository::ParseModelConfig;
  const auto config =
      ParseModelConfig(absl::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!config.ok()) return 0;
  const std::string text = FormatModelConfig(*config);
  const auto again = ParseModelConfig(text, "formatted");
  if (!again.ok() || FormatModelConfig(*again) != text) {
    std::fprintf(stderr, "not read back: %s\n%s\n", again.status().ToString().c_str(),
                 text.c_str());
    std::abort();
  }
  return 0;
}
