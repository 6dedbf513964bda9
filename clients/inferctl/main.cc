// inferctl: talks to an inferd daemon.
#include "clients/inferctl/command.h"
#include "engine/command_line/command.h"

int main(int argc, char** argv) {
  static constexpr inferd::engine::Command kCommands[] = {
      {"infer", "run a model on files, images or made-up values", inferd::client::InferCommand},
      {"status", "the server, its models and their statistics", inferd::client::StatusCommand},
      {"load", "load or reload a model", inferd::client::LoadCommand},
      {"unload", "unload a model", inferd::client::UnloadCommand},
      {"bench", "measure throughput and latency under load", inferd::client::BenchCommand},
  };
  return inferd::engine::RunProgram("inferctl", kCommands, argc, argv);
}
