// inferplan: the engine's workbench, no daemon.
#include "engine/command_line/command.h"
#include "engine/inferplan/commands.h"

int main(int argc, char** argv) {
  static constexpr inferd::engine::Command kCommands[] = {
      {"check", "operators, providers and gaps of a model; exit 0 only if it can run",
       inferd::engine::RunCheck},
      {"run", "run a model once and print its outputs", inferd::engine::RunRun},
      {"test", "run ONNX backend-test folders", inferd::engine::RunTest},
      {"compare", "optimized plan against reference outputs or the eager reference",
       inferd::engine::RunCompare},
      {"operators", "everything the engine can run", inferd::engine::RunOperators},
      {"bench", "load time, latency and throughput", inferd::engine::RunBench},
      {"profile", "where the time of a model goes, and why", inferd::engine::RunProfile},
      {"sweep", "latency and throughput by batch size", inferd::engine::RunSweep},
  };
  return inferd::engine::RunProgram("inferplan", kCommands, argc, argv);
}
