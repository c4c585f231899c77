// Our side of safetensors_live.py: writes a model, and says what it reads in files.
// usage: safetensors_dump --write FILE    the mini GPT, whose i-th parameter is i / 8
//        safetensors_dump FILE...         for each: its tensors as "name dtype shape bytes", then "." or "error: ..."
// Names and bytes are in hexadecimal.
#include <burtorch/io/parameters_file.hpp>
#include <burtorch/model/gpt.hpp>
#include <cstdio>
#include <string>

namespace {

using namespace burtorch;

void printHex(std::span<const std::byte> bytes) {
  std::putchar('x');  // something, if there are none
  for (const std::byte b : bytes) std::printf("%02x", std::to_integer<unsigned>(b));
}
void print(const SafetensorsFile& file) {
  for (const TensorInfo& tensor : file.tensors()) {
    printHex(std::as_bytes(std::span(tensor.name)));
    std::printf(" %s %s ", tensor.dtype.c_str(), safetensors::shapeText(tensor.shape).c_str());
    printHex(file.bytes(tensor));
    std::putchar('\n');
  }
  std::puts(".");
}
void writeModel(const std::string& path) {
  Tape<float> tape;
  Gpt<float> model(tape, {});
  float next = 0;
  for (float& x : model.parameters().values()) x = next++ / 8;
  saveParameters(path, model.parameters(), {{"format", "pt"}});
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 3 && std::string(arguments[1]) == "--write") {
    writeModel(arguments[2]);
    return 0;
  }
  for (int i = 1; i < count; ++i) try {
      print(SafetensorsFile(arguments[i]));
    } catch (const Error& error) {
      std::printf("error: %s\n", error.what());
    }
}
