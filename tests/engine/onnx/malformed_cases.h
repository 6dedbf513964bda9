// Models broken on purpose: every base model under every change that applies to it, and models
// that are wrong by construction.
#pragma once

#include <string>
#include <vector>

namespace inferd::engine {

struct MalformedCase {
  std::string name;
  std::string bytes;
  // Whether some answer other than an error is right too: the change may leave a model that runs.
  bool may_run = false;
  // What an error must name, alternatives with "|" between; empty: anything.
  std::string named;
};

// Base models under mutations (malformed_mutations.cc).
std::vector<MalformedCase> MutatedModels();
// Models that ask for the impossible, and bytes that are no model (malformed_requests.cc).
std::vector<MalformedCase> ImpossibleModels();

}  // namespace inferd::engine
