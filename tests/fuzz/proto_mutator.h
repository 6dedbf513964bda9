// Mutates a protobuf message field by field, so that the result still parses.
#pragma once

#include <cstdint>
#include <random>

namespace google::protobuf {
class Message;
}

namespace inferd::fuzz {

// One to a few changes somewhere in the tree of messages: a number becomes an edge value, a string
// becomes another string of the tree, an element of a list goes, comes twice, or changes places.
void MutateMessage(google::protobuf::Message& message, std::mt19937_64& random);

}  // namespace inferd::fuzz
