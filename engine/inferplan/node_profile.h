// What `inferplan profile` found: the figures of a profile, in words, as JSON and as a trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/inferplan/machine_peak.h"
#include "engine/runtime/model.h"

namespace inferd::engine {

struct ModelProfile {
  std::string model;
  std::vector<std::string> inputs;  // "x float[1,3,224,224]"
  int threads = 1;
  int64_t runs = 0;
  double median_run_us = 0;  // with what happens between nodes
  MachinePeak peak;
  std::vector<NodeProfile> nodes;   // as Context::Profile
  std::vector<NodeReport> planned;  // as Context::PlannedNodes
  RunTrace last_run;
};

// One node's figures per run of the model. Negative: not known.
struct NodeFigures {
  double microseconds = 0;             // median, without the nodes of bodies
  double share = 0;                    // of the sum over all nodes
  double gflops = -1, gigabytes = -1;  // per second
  // The time the machine's peak would allow, by what limits it, over the time taken.
  double share_of_peak = -1;
  bool compute_bound = false;  // else memory-bound
};

std::vector<NodeFigures> FiguresOf(const ModelProfile& profile);

// For people. The last section answers: did fusion happen, what is the bottleneck, did anything
// fall back.
std::string ProfileText(const ModelProfile& profile);
std::string ProfileJson(const ModelProfile& profile);
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU: one complete
// event per node of the last run.
std::string ProfileTrace(const ModelProfile& profile);

}  // namespace inferd::engine
