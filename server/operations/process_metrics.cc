#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

#include "server/operations/families.h"

namespace inferd::server {
namespace {

using prometheus::MetricType;

// "VmHWM:    1234 kB" of /proc/self/status, in bytes; see proc_pid_status(5).
std::optional<double> StatusBytes(const std::string& field) {
  std::ifstream in("/proc/self/status");
  std::string line;
  while (std::getline(in, line)) {
    if (line.compare(0, field.size(), field) != 0 || line[field.size()] != ':') continue;
    std::istringstream rest(line.substr(field.size() + 1));
    double kilobytes = 0;
    if (rest >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

// Fields 14, 15 and 22 of /proc/self/stat: utime, stime, starttime, in clock ticks; see
// proc_pid_stat(5).
struct StatTimes {
  double cpu_ticks = 0;
  double start_ticks = 0;
};
std::optional<StatTimes> ReadStat() {
  std::ifstream in("/proc/self/stat");
  std::string text;
  if (!std::getline(in, text)) return std::nullopt;
  const size_t end_of_name = text.rfind(')');  // the name may hold anything
  if (end_of_name == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(end_of_name + 1));
  std::string skipped;
  StatTimes times;
  double user = 0, system = 0;
  for (int field = 3; field <= 13; ++field) rest >> skipped;
  rest >> user >> system;
  for (int field = 16; field <= 21; ++field) rest >> skipped;
  if (!(rest >> times.start_ticks)) return std::nullopt;
  times.cpu_ticks = user + system;
  return times;
}

std::optional<double> BootTime() {
  std::ifstream in("/proc/stat");
  std::string word;
  double seconds = 0;
  while (in >> word) {
    if (word == "btime" && in >> seconds) return seconds;
  }
  return std::nullopt;
}

std::optional<double> OpenDescriptors() {
  std::error_code error;
  std::filesystem::directory_iterator it("/proc/self/fd", error);
  double count = 0;
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) ++count;
  if (error) return std::nullopt;
  return count - 1;  // the one that lists them
}

void AddOne(std::vector<prometheus::MetricFamily>& families, const char* name, const char* help,
            MetricType type, std::optional<double> value) {
  if (!value.has_value()) return;
  Family family(name, help, type);
  if (type == MetricType::Counter) {
    family.AddCounter({}, *value);
  } else {
    family.AddGauge({}, *value);
  }
  std::move(family).MoveTo(families);
}

}  // namespace

void CollectProcess(std::vector<prometheus::MetricFamily>& families) {
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const std::optional<StatTimes> stat = ReadStat();
  std::optional<double> cpu, start;
  if (stat.has_value()) {
    cpu = stat->cpu_ticks / ticks;
    if (const auto boot = BootTime()) start = *boot + stat->start_ticks / ticks;
  }
  AddOne(families, "process_cpu_seconds_total", "CPU time of the process, user and system.",
         MetricType::Counter, cpu);
  AddOne(families, "process_start_time_seconds", "Start of the process since the Unix epoch.",
         MetricType::Gauge, start);
  AddOne(families, "process_open_fds", "Open file descriptors.", MetricType::Gauge,
         OpenDescriptors());
  AddOne(families, "process_virtual_memory_bytes", "Address space of the process.",
         MetricType::Gauge, StatusBytes("VmSize"));
  AddOne(families, "process_resident_memory_bytes", "Resident memory of the process.",
         MetricType::Gauge, StatusBytes("VmRSS"));
  AddOne(families, "inferd_process_peak_memory_bytes", "Largest resident memory so far.",
         MetricType::Gauge, StatusBytes("VmHWM"));
}

}  // namespace inferd::server
