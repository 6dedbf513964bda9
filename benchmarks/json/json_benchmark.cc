// Which JSON library? A tensor of 150,000 floats in an infer request, both ways: RapidJSON,
// simdjson, and what inferd uses (simdjson for the structure, its own number scanner and
// std::to_chars for the data). Rounds of the candidates are interleaved; the medians are printed,
// in milliseconds.
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "engine/tensor/tensor.h"
#include "server/http/json/json_parser.h"
#include "server/http/json/json_writer.h"

namespace {

constexpr int kElements = 150'000;

struct Candidate {
  std::string name;
  std::function<void()> run;
  std::vector<double> milliseconds;
};

void Require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "%s went wrong\n", what);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  using inferd::engine::Tensor;
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 31;
  std::vector<float> values(kElements);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& v : values) v = uniform(random);
  const Tensor tensor = Tensor::FromValues<float>(inferd::engine::Shape{1, kElements}, values);

  std::string text = "{\"inputs\":[{\"name\":\"x\",\"shape\":[1," + std::to_string(kElements) +
                     "],\"datatype\":\"FP32\",\"data\":";
  inferd::server::JsonWriter writer(&text);
  Require(writer.Elements(tensor.view()).ok(), "formatting");
  text += "}]}";
  const size_t size = text.size();
  text.resize(size + inferd::server::kJsonPadding);
  const absl::string_view json(text.data(), size);

  std::vector<float> out(kElements);
  inferd::server::JsonParser parser;
  simdjson::ondemand::parser ondemand;
  simdjson::dom::parser dom;
  std::vector<Candidate> candidates = {
      {"parse inferd",
       [&] {
         inferd::server::InferRequest request;
         inferd::server::JsonInferExtras extras;
         Require(parser.ParseInferRequest(json, &request, &extras).ok(), "inferd");
         out[0] = request.inputs[0].tensor.as<float>()[0];
       },
       {}},
      {"parse simdjson ondemand",
       [&] {
         auto document = ondemand.iterate(text.data(), size, text.size());
         size_t i = 0;
         for (auto input : document["inputs"]) {
           for (auto v : input["data"]) {
             double d;
             Require(v.get_double().get(d) == simdjson::SUCCESS, "simdjson");
             out[i++] = static_cast<float>(d);
           }
         }
         Require(i == kElements, "simdjson");
       },
       {}},
      {"parse simdjson dom",
       [&] {
         size_t i = 0;
         simdjson::dom::element root;
         Require(dom.parse(text.data(), size, false).get(root) == simdjson::SUCCESS, "simdjson");
         for (simdjson::dom::element v : simdjson::dom::array(root["inputs"].at(0)["data"])) {
           out[i++] = static_cast<float>(double(v));
         }
       },
       {}},
      {"parse rapidjson dom",
       [&] {
         rapidjson::Document document;
         document.Parse(text.data(), size);
         Require(!document.HasParseError(), "rapidjson");
         size_t i = 0;
         for (const auto& v : document["inputs"][0]["data"].GetArray()) {
           out[i++] = static_cast<float>(v.GetDouble());
         }
       },
       {}},
      {"format inferd (to_chars)",
       [&] {
         std::string answer;
         inferd::server::JsonWriter w(&answer);
         Require(w.Elements(tensor.view()).ok(), "formatting");
       },
       {}},
      {"format rapidjson",
       [&] {
         rapidjson::StringBuffer buffer;
         rapidjson::Writer<rapidjson::StringBuffer> w(buffer);
         w.StartArray();
         for (float v : values) w.Double(v);
         w.EndArray();
       },
       {}},
  };
  for (int round = 0; round < rounds; ++round) {
    for (Candidate& c : candidates) {
      const auto begin = std::chrono::steady_clock::now();
      c.run();
      c.milliseconds.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
              .count());
    }
  }
  for (Candidate& c : candidates) {
    std::nth_element(c.milliseconds.begin(), c.milliseconds.begin() + rounds / 2,
                     c.milliseconds.end());
    std::printf("%-26s %7.2f\n", c.name.c_str(), c.milliseconds[rounds / 2]);
  }
}
