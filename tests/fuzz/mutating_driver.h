// What a fuzz target gives the driver in mutating_driver.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

// Runs the code under test on one input; returns 0. Any crash, sanitizer report or std::abort is a
// finding. The name is libFuzzer's, so that a target can be linked with it as well.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace inferd::fuzz {

// Well-formed inputs to mutate; at least one. Files named on the command line are added.
std::vector<std::string> SeedInputs();

// A target may define this to mutate in the terms of its format; half of the runs then use it.
// False: the input is not well-formed, mutate its bytes.
__attribute__((weak)) bool MutateInput(std::string& input, std::mt19937_64& random);

}  // namespace inferd::fuzz
