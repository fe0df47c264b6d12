#include "cli/calls.h"

#include <torchlet/torchlet.h>

#include <cstdio>

#include "base/error.h"
#include "base/mapped_file.h"
#include "cli/files.h"
#include "cli/json_values.h"

namespace torchlet::cli {
namespace {

Json read_request(const std::string& path) {
  Json request = parse_json(MappedFile(path).bytes());
  if (!request.is_object() || !request.contains("calls") || !request["calls"].is_array()) {
    fail(ErrorCode::kInvalidArgument, path + " is no JSON object with a list of \"calls\"");
  }
  return request;
}

ValueReader reader_beside(const std::string& path) {
  const size_t slash = path.rfind('/');
  return ValueReader(slash == std::string::npos ? "." : path.substr(0, slash + 1));
}

std::vector<Value> inputs_of(const Json& call, ValueReader& reader) {
  std::vector<Value> inputs;
  if (call.contains("inputs")) {
    for (const Json& input : call["inputs"]) inputs.push_back(reader.read(input));
  }
  return inputs;
}

Json run_call(const Module& module, const Json& call, ValueReader& reader, ValueWriter& writer) {
  const Json none = Json::object();
  const std::vector<Value> inputs = inputs_of(call, reader);
  Kwargs kwargs;
  for (const auto& [name, value] : (call.contains("kwargs") ? call["kwargs"] : none).items()) {
    kwargs.emplace_back(name, reader.read(value));
  }
  const Value output = module.get_method(call.value("method", "forward"))(inputs, kwargs);
  Json after = Json::array();
  Json written = writer.write(output);
  for (const Value& input : inputs) after.push_back(writer.write(input));
  return {{"status", "ok"}, {"output", std::move(written)}, {"inputs_after", std::move(after)}};
}

}  // namespace

void run_calls(const std::string& model, const std::string& request_path, const std::string& folder,
               Options options) {
  const Json request = read_request(request_path);
  options.allow_unsupported = true;
  options.print = [](std::string_view line) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  };
  const Module module = load(model, options);

  make_folder(folder);
  ValueReader reader = reader_beside(request_path);
  ValueWriter writer(folder);
  const Json& calls = request["calls"];
  const bool fresh = !request.value("stateful", false) && calls.size() > 1;
  Json results = Json::array();
  for (const Json& call : calls) {
    try {
      results.push_back(run_call(fresh ? module.deepcopy() : module, call, reader, writer));
    } catch (const std::exception& error) {
      results.push_back({{"status", "error"}, {"message", error.what()}});
    }
  }
  writer.finish();
  write_file(folder + "/results.json", json_text({{"results", std::move(results)}}));
}

RequestedCall first_call(const std::string& request_path) {
  const Json request = read_request(request_path);
  if (request["calls"].empty()) {
    fail(ErrorCode::kInvalidArgument, request_path + " names no call");
  }
  const Json& call = request["calls"][0];
  if (call.contains("kwargs") && !call["kwargs"].empty()) {
    fail(ErrorCode::kInvalidArgument,
         request_path + " names arguments by name; here they stand in \"inputs\", in order");
  }
  ValueReader reader = reader_beside(request_path);
  return {call.value("method", "forward"), inputs_of(call, reader)};
}

}  // namespace torchlet::cli
