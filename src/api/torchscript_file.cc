#include "api/torchscript_file.h"

#include <algorithm>

#include "archive/pickle_writer.h"
#include "archive/zip_writer.h"
#include "script/debug_ranges.h"
#include "script/program_printer.h"
#include "tensor/containers.h"

namespace torchlet::api {
namespace {

using archive::bytes_of;
using archive::ZipWriter;

// "code/__torch__/torch/nn.py" of "__torch__.torch.nn"
std::string code_record(std::string package) {
  std::ranges::replace(package, '.', '/');
  return "code/" + package + ".py";
}

void add_values(ZipWriter& zip, const std::string& name, const Value& value,
                const archive::StateOf& state_of) {
  archive::PickleWriter pickle(state_of);
  const std::string bytes = pickle.write(value);
  for (size_t i = 0; i < pickle.storages().size(); ++i) {
    const Storage& storage = *pickle.storages()[i];
    zip.add(name + "/" + std::to_string(i), {storage.data(), storage.nbytes()});
  }
  zip.add(name + ".pkl", bytes_of(bytes));
}

}  // namespace

void write_torchscript(const LoadedProgram& program, const Value& root, ByteSink& sink,
                       const std::map<std::string, std::string>& extra_files,
                       const std::string& methods) {
  const auto state_of = [&](const Value& object) {
    if (object.is_custom()) return object.custom_ref().get_state();
    return program.interpreter.run(*object.object_ref().type->find_method("__getstate__"),
                                   {object});
  };
  const script::PrintedProgram printed = script::print_program(root, methods);

  // The root folder is the same for every file, so that the name of the file is not part of it.
  ZipWriter zip(sink, "archive");
  for (const auto& [name, content] : extra_files) zip.add("extra/" + name, bytes_of(content));
  add_values(zip, "data", root, state_of);
  for (const script::PrintedProgram::File& file : printed.files) {
    const std::string record = code_record(file.package);
    zip.add(record, bytes_of(file.source.text), ZipWriter::Form::kDeflatedIfLarge);
    if (const Value places = script::debug_record(file.source.marks); !places.is_none()) {
      const std::string pickle = archive::PickleWriter(state_of).write(places);
      zip.add(record + ".debug_pkl", bytes_of(pickle), ZipWriter::Form::kDeflatedIfLarge);
    }
  }
  add_values(zip, "constants", Value::tuple(printed.constants), state_of);
  const bool is_new = printed.operator_version >= 6;
  zip.add(is_new ? ".data/version" : "version",
          bytes_of(std::to_string(printed.operator_version) + "\n"));
  zip.finish();
}

}  // namespace torchlet::api
