// A small mutation fuzzer: main for every fuzz target.
//
//   TARGET [--runs N] [--seed S] [--first I] [--timeout SECONDS] [--max-rss-mb M] [--dump FILE]
//          [SEED_FILE_OR_DIR...]
//
// Run I of seed S is the same input on every machine given the same seeds: a finding is repeated
// with --seed S --first I --runs 1, and --dump FILE writes that input out.
#include "tests/fuzz/mutating_driver.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

// Provided by the sanitizers' runtime where one is linked.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

// Undefined behaviour ends the run like a crash, through SIGABRT, so that the run is named.
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace inferd::fuzz {
namespace {

constexpr size_t kMaxInputBytes = 1 << 20;

struct Options {
  uint64_t runs = 10000;
  uint64_t seed = 1;
  uint64_t first = 0;
  unsigned timeout_seconds = 20;
  uint64_t max_rss_mb = 4096;
  std::string dump;
  std::vector<std::string> seed_paths;
};

// Read by signal handlers: how to repeat the run in progress.
char g_repeat_hint[128];

void PrintRepeatHint() {
  const ssize_t written = write(STDERR_FILENO, g_repeat_hint, std::strlen(g_repeat_hint));
  static_cast<void>(written);
}

void OnSignal(int signal_number) {
  if (signal_number == SIGALRM) {
    constexpr char kTooSlow[] = "fuzz: one input took longer than --timeout\n";
    const ssize_t written = write(STDERR_FILENO, kTooSlow, sizeof(kTooSlow) - 1);
    static_cast<void>(written);
  }
  PrintRepeatHint();
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, uint64_t seed, uint64_t run)
      : seeds_(seeds), random_(seed * 0x9e3779b97f4a7c15u + run) {}

  std::string Next() {
    std::string input = seeds_[Below(seeds_.size())];
    if (MutateInput != nullptr && Below(2) == 0 && MutateInput(input, random_)) return input;
    const size_t steps = 1 + Below(Below(4) == 0 ? 32 : 4);
    // Length-prefixed formats survive only mutations that keep the size; half of the runs do.
    const bool keep_size = Below(2) == 0;
    for (size_t i = 0; i < steps; ++i) Mutate(input, keep_size);
    if (input.size() > kMaxInputBytes) input.resize(kMaxInputBytes);
    return input;
  }

 private:
  size_t Below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  void Mutate(std::string& input, bool keep_size) {
    if (input.empty()) input.push_back(static_cast<char>(random_()));
    const size_t at = Below(input.size());
    switch (Below(keep_size ? 4 : 9)) {
      case 0:
        input[at] = static_cast<char>(input[at] ^ (1 << Below(8)));
        return;
      case 1:
        input[at] = static_cast<char>(random_());
        return;
      case 2: {
        // Values at the edges of ranges, and the small numbers lengths are made of.
        constexpr unsigned char kEdges[] = {0x00, 0x01, 0x02, 0x7f, 0x80, 0xfe, 0xff, 0x10, 0x40};
        input[at] = static_cast<char>(kEdges[Below(std::size(kEdges))]);
        return;
      }
      case 3: {
        // A number written out as ones: -1, or the largest, in many encodings.
        const size_t count = std::min<size_t>(1 + Below(9), input.size() - at);
        std::fill_n(input.begin() + static_cast<std::ptrdiff_t>(at), count, '\xff');
        return;
      }
      case 4:
        input.erase(at, 1 + Below(std::min<size_t>(input.size() - at, 64)));
        return;
      case 5: {
        const std::string piece = input.substr(Below(input.size()), 1 + Below(64));
        input.insert(at, piece);
        return;
      }
      case 6: {
        std::string piece(1 + Below(16), '\0');
        for (char& c : piece) c = static_cast<char>(random_());
        input.insert(at, piece);
        return;
      }
      case 7: {
        const std::string& other = seeds_[Below(seeds_.size())];
        const size_t from = Below(other.size());
        const std::string piece = other.substr(from, 1 + Below(256));
        if (Below(2) == 0) {
          input.insert(at, piece);
        } else {
          input.replace(at, piece.size(), piece);
        }
        return;
      }
      default:
        input.resize(at);
        return;
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_;
};

void AddSeedFiles(const std::string& path, std::vector<std::string>& seeds) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file() && entry.file_size() <= kMaxInputBytes) {
        files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());  // the order must not depend on the file system
  } else {
    files.emplace_back(path);
  }
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "fuzz: cannot read %s\n", file.c_str());
      std::exit(2);
    }
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
}

[[noreturn]] void Usage(const char* program) {
  std::fprintf(stderr,
               "usage: %s [--runs N] [--seed S] [--first I] [--timeout SECONDS] [--max-rss-mb M] "
               "[--dump FILE] [SEED_FILE_OR_DIR...]\n",
               program);
  std::exit(2);
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view flag = argv[i];
    if (flag.substr(0, 2) != "--") {
      options.seed_paths.emplace_back(flag);
      continue;
    }
    if (++i == argc) Usage(argv[0]);
    if (flag == "--dump") {
      options.dump = argv[i];
      continue;
    }
    uint64_t number = 0;
    if (!absl::SimpleAtoi(argv[i], &number)) Usage(argv[0]);
    if (flag == "--runs") {
      options.runs = number;
    } else if (flag == "--seed") {
      options.seed = number;
    } else if (flag == "--first") {
      options.first = number;
    } else if (flag == "--timeout") {
      options.timeout_seconds = static_cast<unsigned>(number);
    } else if (flag == "--max-rss-mb") {
      options.max_rss_mb = number;
    } else {
      Usage(argv[0]);
    }
  }
  return options;
}

int Run(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  std::vector<std::string> seeds = SeedInputs();
  for (const std::string& path : options.seed_paths) AddSeedFiles(path, seeds);

  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(&PrintRepeatHint);
  std::signal(SIGABRT, &OnSignal);
  if (__sanitizer_set_death_callback == nullptr) {
    for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(crash, &OnSignal);
  }
  std::signal(SIGALRM, &OnSignal);

  for (const std::string& seed : seeds) {
    std::snprintf(g_repeat_hint, sizeof(g_repeat_hint), "fuzz: in a seed as it is\n");
    alarm(options.timeout_seconds);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(seed.data()), seed.size());
  }
  for (uint64_t run = options.first; run < options.first + options.runs; ++run) {
    std::snprintf(g_repeat_hint, sizeof(g_repeat_hint),
                  "fuzz: repeat with --seed %llu --first %llu --runs 1\n",
                  static_cast<unsigned long long>(options.seed),
                  static_cast<unsigned long long>(run));
    const std::string input = Mutator(seeds, options.seed, run).Next();
    if (!options.dump.empty()) std::ofstream(options.dump, std::ios::binary) << input;
    alarm(options.timeout_seconds);
    // A copy of exactly this size, so that a read past the end is seen.
    std::vector<uint8_t> bytes(input.begin(), input.end());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    if (static_cast<uint64_t>(usage.ru_maxrss) / 1024 > options.max_rss_mb) {
      std::fprintf(stderr, "fuzz: memory grew past %llu MB\n",
                   static_cast<unsigned long long>(options.max_rss_mb));
      PrintRepeatHint();
      return 1;
    }
  }
  alarm(0);
  std::printf("%llu runs over %zu seeds, no findings\n",
              static_cast<unsigned long long>(options.runs), seeds.size());
  return 0;
}

}  // namespace
}  // namespace inferd::fuzz

int main(int argc, char** argv) { return inferd::fuzz::Run(argc, argv); }
