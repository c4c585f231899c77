// Our side of safetensors_live.py and npy_live.py: writes a model or arrays, and says what it reads in files.
// usage: safetensors_dump --write FILE    the mini GPT, whose i-th parameter is i / 8
//        safetensors_dump --arrays FOLDER .npy files, whose i-th number is i, or i / 8 where that is possible
//        safetensors_dump FILE...         for each: its tensors as "name dtype shape bytes", then "." or "error: ..."
// Names and bytes are in hexadecimal. An array has an empty name, and its numbers are those of `read`, in C order: of
// fp64, or of 64 bits if they are whole.
#include <burtorch/checkpoint/parameters_file.hpp>
#include <burtorch/io/npy.hpp>
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
template <class T> void printNumbers(const NpyFile& file) {
  std::vector<T> numbers(static_cast<std::size_t>(file.count()));
  file.read(std::span(numbers));
  printHex(std::as_bytes(std::span<const T>(numbers)));
}
void print(const NpyFile& file) {
  std::printf("x %s %s ", file.dtype().c_str(), safetensors::shapeText(file.shape()).c_str());
  const std::optional<NumberType> type = npy::typeOf(file.dtype());
  if (!type)
    printHex(file.array().bytes());
  else if (isReal(*type))
    printNumbers<double>(file);
  else
    printNumbers<std::int64_t>(file);
  std::puts("\n.");
}
bool isNpy(const char* path) { return MappedFile(path).text().starts_with(npy::magic); }

template <class T>
void writeArray(const std::string& folder, const char* name, const std::vector<std::uint64_t>& shape) {
  std::uint64_t count = 0;
  npy::countOf(shape, sizeof(T), count);
  std::vector<T> numbers;
  for (std::uint64_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<T>(static_cast<T>(i) / static_cast<T>(std::floating_point<T> ? 8 : 1)));
  saveNpy(folder + "/" + name + ".npy", shape, std::span<const T>(numbers));
}
void writeArrays(const std::string& folder) {
  writeArray<double>(folder, "f8", {7, 3});
  writeArray<float>(folder, "f4", {2, 3, 4, 5});
  writeArray<std::int64_t>(folder, "i8", {100});
  writeArray<std::int32_t>(folder, "i4", {1, 9});
  writeArray<std::uint8_t>(folder, "u1", {16, 16});
  writeArray<double>(folder, "scalar", {});
  writeArray<float>(folder, "none", {3, 0, 2});
  writeArray<float>(folder, "deep", std::vector<std::uint64_t>(32, 1));
}
void writeModel(const std::string& path) {
  const Gpt<float> model(GptConfig{});
  ParameterStore<float> parameters(model.layout());
  float next = 0;
  for (float& x : parameters.values()) x = next++ / 8;
  saveParameters(path, parameters, {{"format", "pt"}});
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 3 && std::string(arguments[1]) == "--write") {
    writeModel(arguments[2]);
    return 0;
  }
  if (count == 3 && std::string(arguments[1]) == "--arrays") {
    writeArrays(arguments[2]);
    return 0;
  }
  for (int i = 1; i < count; ++i) try {
      if (isNpy(arguments[i]))
        print(NpyFile(arguments[i]));
      else
        print(SafetensorsFile(arguments[i]));
    } catch (const Error& error) {
      std::printf("error: %s\n", error.what());
    }
}
