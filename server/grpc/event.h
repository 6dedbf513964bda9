// What a completion queue's tags point to.
#pragma once

namespace inferd::server {

class Event {
 public:
  // `ok` as in grpc::CompletionQueue::Next.
  virtual void Run(bool ok) = 0;

 protected:
  ~Event() = default;
};

// An event that calls a member function of the object it is part of, which may delete that
// object.
template <typename Object, void (Object::*kMethod)(bool)>
class MemberEvent final : public Event {
 public:
  explicit MemberEvent(Object* object) : object_(object) {}
  void Run(bool ok) override { (object_->*kMethod)(ok); }

 private:
  Object* const object_;
};

}  // namespace inferd::server
