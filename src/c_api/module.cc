#include <torchlet/bundled_inputs.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "c_api/handles.h"
#include "c_api/profiler.h"

using namespace torchlet;
using namespace torchlet::c_api;

torchlet_module::torchlet_module(Module m, std::shared_ptr<std::atomic<bool>> c)
    : module(std::move(m)), cancelled(std::move(c)), type_name(utf8(module.type_name())) {
  for (const Method& method : module.methods()) methods.push_back(utf8(method.name()));
}

namespace {

// `load` gets the options and gives a Module.
template <typename Load>
torchlet_status load_guarded(const torchlet_options* options, torchlet_module** module,
                             const Load& load) {
  return guarded([&] {
    torchlet_module*& result = given(module, "module");
    auto cancelled = std::make_shared<std::atomic<bool>>(false);
    Options own = options ? options->options : Options();
    own.cancel = cancelled;
    result = new torchlet_module(load(own), std::move(cancelled));
  });
}

std::string json_text(const nlohmann::json& node) {
  return node.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json info_json(const Module& module) {
  using Json = nlohmann::json;
  Json methods = Json::array(), operators = Json::object(), unsupported = Json::array();
  for (const Method& method : module.methods()) {
    methods.push_back({{"name", method.name()}, {"schema", method.schema()}});
  }
  for (const auto& [name, count] : module.operators()) operators[name] = count;
  for (const UnsupportedOperator& op : module.unsupported_operators()) {
    unsupported.push_back({{"name", op.name}, {"reason", op.reason}, {"places", op.places}});
  }
  const ModelInfo& info = module.info();
  return {{"file", info.file},
          {"container", info.container},
          {"file_version", info.file_version},
          {"bytes", info.num_bytes},
          {"class", info.root_class},
          {"methods", std::move(methods)},
          {"operators", std::move(operators)},
          {"unsupported_operators", std::move(unsupported)}};
}

}  // namespace

torchlet_status torchlet_module_load(const char* path, const torchlet_options* options,
                                     torchlet_module** module) {
  return load_guarded(options, module,
                      [&](const Options& own) { return load(given_text(path, "path"), own); });
}

torchlet_status torchlet_module_load_fd(int fd, int64_t offset, int64_t length,
                                        const torchlet_options* options, torchlet_module** module) {
  return load_guarded(options, module,
                      [&](const Options& own) { return load(fd, offset, length, own); });
}

torchlet_status torchlet_module_load_memory(const void* data, size_t size,
                                            const torchlet_options* options,
                                            torchlet_module** module) {
  return load_guarded(options, module, [&](const Options& own) {
    if (!data) fail_null("data");
    return load(std::span(static_cast<const std::byte*>(data), size), own);
  });
}

void torchlet_module_free(torchlet_module* module) { delete module; }

const char* torchlet_module_type_name(const torchlet_module* module) {
  return answered([&] { return given(module, "module").type_name.c_str(); });
}

size_t torchlet_module_method_count(const torchlet_module* module) {
  return answered([&] { return given(module, "module").methods.size(); });
}

const char* torchlet_module_method_name(const torchlet_module* module, size_t index) {
  return answered([&]() -> const char* {
    const std::vector<std::string>& methods = given(module, "module").methods;
    return index < methods.size() ? methods[index].c_str() : nullptr;
  });
}

torchlet_status torchlet_module_method_schema(const torchlet_module* module, const char* method,
                                              char** schema) {
  return guarded([&] {
    char*& result = given(schema, "schema");
    const Method found = given(module, "module").module.get_method(given_text(method, "method"));
    result = new_text(found.schema());
  });
}

torchlet_status torchlet_module_forward(const torchlet_module* module,
                                        const torchlet_value* const* inputs, size_t count,
                                        torchlet_value** result) {
  return torchlet_module_run(module, "forward", inputs, count, nullptr, nullptr, 0, result);
}

torchlet_status torchlet_module_run(const torchlet_module* module, const char* method,
                                    const torchlet_value* const* inputs, size_t count,
                                    const char* const* names, const torchlet_value* const* keywords,
                                    size_t keyword_count, torchlet_value** result) {
  return guarded([&] {
    torchlet_value*& answer = given(result, "result");
    const Module& called = given(module, "module").module;
    const char* name = given_text(method, "method");
    std::vector<Value> arguments = values_of(inputs, count, "inputs");
    std::vector<Value> by_name = values_of(keywords, keyword_count, "keywords");
    if (keyword_count && !names) fail_null("names");
    Kwargs kwargs;
    for (size_t i = 0; i < keyword_count; ++i) {
      kwargs.emplace_back(given_text(names[i], "a name of a keyword"), std::move(by_name[i]));
    }
    const ProfiledCall profiled;
    answer = new torchlet_value(called.get_method(name)(std::move(arguments), kwargs));
  });
}

torchlet_status torchlet_module_cancel(const torchlet_module* module, int cancel) {
  return guarded([&] { *given(module, "module").cancelled = cancel != 0; });
}

torchlet_status torchlet_module_copy(const torchlet_module* module, torchlet_module** copy) {
  return guarded([&] {
    torchlet_module*& result = given(copy, "copy");
    const torchlet_module& original = given(module, "module");
    result = new torchlet_module(original.module.deepcopy(), original.cancelled);
  });
}

torchlet_status torchlet_module_attribute(const torchlet_module* module, const char* path,
                                          torchlet_value** value) {
  return guarded([&] {
    torchlet_value*& result = given(value, "value");
    const std::string_view whole = given_text(path, "path");
    const size_t dot = whole.rfind('.');
    const bool is_path = dot != std::string_view::npos;
    const Module& root = given(module, "module").module;
    const Module owner = is_path ? root.submodule(whole.substr(0, dot)) : root;
    result = new torchlet_value(owner.attr(is_path ? whole.substr(dot + 1) : whole));
  });
}

torchlet_status torchlet_module_bundled_inputs(const torchlet_module* module, const char* method,
                                               torchlet_value** calls) {
  return guarded([&] {
    torchlet_value*& result = given(calls, "calls");
    std::vector<Value> all;
    for (std::vector<Value>& call :
         bundled_inputs(given(module, "module").module, given_text(method, "method"))) {
      all.push_back(Value::tuple(std::move(call)));
    }
    result = new torchlet_value(list_of(std::move(all)));
  });
}

torchlet_status torchlet_module_info(const torchlet_module* module, char** json) {
  return guarded(kReports, [&] {
    char*& result = given(json, "json");
    result = new_text(json_text(info_json(given(module, "module").module)));
  });
}

torchlet_status torchlet_module_extra_file(const torchlet_module* module, const char* name,
                                           char** data, size_t* size) {
  return guarded([&] {
    char*& bytes = given(data, "data");
    size_t& count = given(size, "size");
    const Module& own = given(module, "module").module;
    const std::string_view wanted = given_text(name, "name");
    const std::map<std::string, std::string> files = own.extra_files();
    const auto found = files.find(std::string(wanted));
    if (found == files.end()) {
      fail(ErrorCode::kNotFound, "the model carries no extra file '%s'; it has %zu",
           std::string(wanted).c_str(), files.size());
    }
    bytes = new_bytes(found->second);
    count = found->second.size();
  });
}

torchlet_status torchlet_module_placement(const torchlet_module* module, char** json) {
  return guarded(kReports, [&] {
    char*& result = given(json, "json");
    nlohmann::json all = nlohmann::json::array();
    for (const Placement& p : given(module, "module").module.placement()) {
      all.push_back({{"segment", p.is_segment},
                     {"what", p.what},
                     {"place", p.place},
                     {"device", p.device},
                     {"reason", p.reason},
                     {"operators", p.operators},
                     {"times", p.times},
                     {"compile_ms", p.seconds * 1e3}});
    }
    result = new_text(json_text(all));
  });
}
