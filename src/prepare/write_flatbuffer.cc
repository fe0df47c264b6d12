#include "lite/write/flat_writer.h"
#include "prepare/saved_model.h"

namespace torchlet::prepare {

void write_flatbuffer(const SavedModel& model, ByteSink& sink) {
  std::map<std::string, std::string> sources;
  for (const script::PrintedProgram::File& file : model.program.files) {
    sources.emplace(file.package, file.source.text);
  }
  lite::FlatBuilder builder;
  const std::span<const std::byte> bytes =
      lite::write_flatbuffer({*model.bytecode, model.root, model.state_of, std::move(sources),
                              model.program.constants, model.extra_files, model.operator_version},
                             builder);
  sink.write(bytes);
}

}  // namespace torchlet::prepare
