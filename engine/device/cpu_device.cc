#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/device/device.h"

namespace inferd::engine {
namespace {

// Work on the host runs when it is submitted, so an event has always happened.
class CpuEvent final : public Event {
 public:
  absl::Status Synchronize() override { return absl::OkStatus(); }
  bool Done() const override { return true; }
};

class CpuStream final : public Stream {
 public:
  explicit CpuStream(int threads) : threads_(threads) {}
  absl::Status Record(Event&) override { return absl::OkStatus(); }
  absl::Status Wait(Event&) override { return absl::OkStatus(); }
  absl::Status Synchronize() override { return absl::OkStatus(); }
  absl::Status CopyToDevice(void* device, const void* host, size_t bytes) override {
    if (bytes > 0) std::memcpy(device, host, bytes);
    return absl::OkStatus();
  }
  absl::Status CopyToHost(void* host, const void* device, size_t bytes) override {
    if (bytes > 0) std::memcpy(host, device, bytes);
    return absl::OkStatus();
  }
  ThreadPool& threads() override { return threads_; }

 private:
  ThreadPool threads_;
};

class CpuDeviceImpl final : public Device {
 public:
  absl::string_view name() const override { return "cpu"; }
  bool is_host() const override { return true; }
  absl::StatusOr<std::unique_ptr<Stream>> NewStream(int threads) override {
    if (threads < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a CPU stream needs at least one thread, found ", threads));
    }
    return std::make_unique<CpuStream>(threads);
  }
  absl::StatusOr<std::unique_ptr<Event>> NewEvent() override {
    return std::make_unique<CpuEvent>();
  }
  absl::StatusOr<BufferRef> Allocate(size_t bytes) override { return AllocateHostBuffer(bytes); }
  absl::StatusOr<BufferRef> AllocateStaging(size_t bytes) override {
    return AllocateHostBuffer(bytes);
  }
};

}  // namespace

Device& CpuDevice() {
  static CpuDeviceImpl device;
  return device;
}

}  // namespace inferd::engine
