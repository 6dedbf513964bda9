// Collects everything that keeps a model from running, so that the user sees it at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace inferd::engine {

struct Gap {
  std::string domain;  // canonical: "" is ai.onnx
  std::string op;
  int64_t opset = 0;
  std::string node;   // display name
  std::string types;  // of the inputs: "float[1,3], int64[2]"
  std::string why;    // what is missing, and what is supported
};

class GapReport {
 public:
  void Add(Gap gap);
  bool empty() const { return groups_.empty(); }
  // UNIMPLEMENTED with a line per distinct gap; nodes with the same gap share a line.
  absl::Status ToStatus() const;

 private:
  struct Group {
    Gap first;
    std::vector<std::string> other_nodes;  // the first few
    int count = 1;
  };
  std::vector<Group> groups_;
};

}  // namespace inferd::engine
