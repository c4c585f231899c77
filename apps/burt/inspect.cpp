// burt inspect: what is inside a file of tensors, without loading it. The kind is recognised by content.
#include <burtorch/io/npy.hpp>
#include <burtorch/io/safetensors.hpp>
#include <burtorch/io/summary.hpp>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "columns.hpp"
#include "command.hpp"
#include "flags.hpp"
#include "json_line.hpp"
#include "model_file.hpp"

namespace burt {
namespace {

using namespace burtorch;

/// A tensor of either kind of file.
struct Tensor {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  std::optional<std::uint64_t> count;  // none if the type is not known
  std::span<const std::byte> bytes;
  std::optional<NumberType> type;  // none if there are no statistics

  Summary<> summary() const { return summarize(*type, bytes); }
};
struct Content {
  const char* format;
  Metadata metadata;
  std::vector<Tensor> tensors;
};
struct Totals {
  std::uint64_t numbers = 0, bytes = 0, nans = 0, infinities = 0;

  void add(const Tensor& tensor) {
    numbers += tensor.count.value_or(0);
    bytes += tensor.bytes.size();
  }
  void add(const Summary<>& summary) {
    nans += summary.nans();
    infinities += summary.infinities();
  }
};

enum class Kind { safetensors, npy };

/// Of a file that has the beginning of its kind; whether the rest is right is for the reader to say.
Kind kindOf(const std::string& path) {
  constexpr std::size_t lengthBytes = sizeof(std::uint64_t);
  const MappedFile file(path);
  if (file.text().starts_with(npy::magic)) return Kind::npy;
  if (file.size() > lengthBytes && file.text()[lengthBytes] == '{') return Kind::safetensors;
  throw BadInput("cannot inspect '" + printable(path) +
                 "': expected a safetensors or .npy file, but it does not begin like one");
}

Content contentOf(const SafetensorsFile& file) {
  Content content{"safetensors", file.metadata(), {}};
  for (const TensorInfo& tensor : file.tensors()) {
    const std::uint64_t each = safetensors::bytesPerNumber(tensor.dtype);
    content.tensors.push_back({tensor.name, tensor.dtype, tensor.shape,
                               each > 0 ? std::optional(tensor.bytes() / each) : std::nullopt,
                               file.bytes(tensor), safetensors::realTypeOf(tensor.dtype)});
  }
  return content;
}
Content contentOf(const NpyFile& file) {
  std::optional<NumberType> type = npy::typeOf(file.dtype());
  if (type && !isReal(*type)) type.reset();
  const std::string name = std::filesystem::path(file.path()).filename().string();
  return {"npy", {}, {{name, file.dtype(), file.shape(), file.count(), file.array().bytes(), type}}};
}

constexpr std::size_t pageColumns = 120;

std::string bars(std::span<const std::uint64_t> counts) {
  static constexpr const char* heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::uint64_t most = 1;
  for (const std::uint64_t count : counts) most = std::max(most, count);
  std::string line;
  for (const std::uint64_t count : counts) {
    const double part = static_cast<double>(count) / static_cast<double>(most);
    // Only a bin without numbers is empty, however few the others have.
    line += count == 0 ? " " : heights[std::min<std::size_t>(7, static_cast<std::size_t>(part * 8))];
  }
  return line;
}
std::string shortened(double number) {
  if (std::isnan(number)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

void printMetadata(const Metadata& metadata) {
  constexpr std::size_t keyColumns = 30, valueColumns = 80;
  std::size_t widest = 0;
  for (const auto& [key, text] : metadata) widest = std::max(widest, widthOf(fitted(key, keyColumns)));
  for (const auto& [key, text] : metadata) {
    const std::string name = fitted(key, keyColumns);
    const std::string size =
        widthOf(text) > valueColumns ? " (" + std::to_string(text.size()) + " bytes)" : "";
    std::printf("  %s%*s  %s%s\n", name.c_str(), static_cast<int>(widest - widthOf(name)), "",
                fitted(text, valueColumns).c_str(), size.c_str());
  }
}
void printTable(const std::string& path, const Content& content) {
  using enum Table::Side;
  std::printf("%s (%s)\n", fitted(path, 100).c_str(), content.format);
  printMetadata(content.metadata);
  std::puts("");
  Table table({left, left, left, right, right, right, right, right, right, left});
  table.add({"name", "shape", "dtype", "count", "min", "mean", "max", "nan", "inf", "histogram"});
  Totals totals;
  for (const Tensor& tensor : content.tensors) {
    totals.add(tensor);
    std::vector<std::string> row{fitted(tensor.name, pageColumns),
                                 fitted(safetensors::shapeText(tensor.shape), 20), fitted(tensor.dtype, 10),
                                 tensor.count ? std::to_string(*tensor.count) : "-"};
    if (tensor.type) {
      const Summary<> summary = tensor.summary();
      totals.add(summary);
      row.insert(row.end(), {shortened(summary.min()), shortened(summary.mean()), shortened(summary.max()),
                             std::to_string(summary.nans()), std::to_string(summary.infinities()),
                             bars(summary.histogram().counts())});
    } else {
      row.insert(row.end(), {"-", "-", "-", "-", "-", "- " + std::to_string(tensor.bytes.size()) + " bytes"});
    }
    table.add(std::move(row));
  }
  table.print(pageColumns, 16);
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf("\n%zu %s, %llu numbers, %llu bytes; ", content.tensors.size(),
              content.tensors.size() == 1 ? "tensor" : "tensors", number(totals.numbers),
              number(totals.bytes));
  if (totals.nans + totals.infinities == 0)
    std::puts("all finite");
  else
    std::printf("not finite: %llu NaN, %llu infinite\n", number(totals.nans), number(totals.infinities));
}

/// "key":value, and a comma if another one follows.
std::string member(const char* key, const std::string& value, const char* end = ",") {
  return '"' + std::string(key) + "\":" + value + end;
}
std::string jsonOf(const Tensor& tensor) {
  std::string json = "{" + member("name", jsonString(tensor.name)) +
                     member("dtype", jsonString(tensor.dtype)) + member("shape", jsonArray(tensor.shape)) +
                     member("count", tensor.count ? std::to_string(*tensor.count) : "null") +
                     member("bytes", std::to_string(tensor.bytes.size()), "");
  if (!tensor.type) return json + "}";
  const Summary<> summary = tensor.summary();
  json += "," + member("nan", std::to_string(summary.nans())) +
          member("inf", std::to_string(summary.infinities())) + member("min", jsonNumber(summary.min())) +
          member("mean", jsonNumber(summary.mean())) + member("max", jsonNumber(summary.max()));
  const Histogram<>& histogram = summary.histogram();
  const bool isEmpty = histogram.counts().empty();
  return json + "\"histogram\":{" + member("lower", isEmpty ? "null" : jsonNumber(histogram.lower(0))) +
         member("width", isEmpty ? "null" : jsonNumber(histogram.width())) +
         member("counts", jsonArray(histogram.counts()), "}}");
}
void printJson(const std::string& path, const Content& content) {
  std::string metadata;
  for (const auto& [key, text] : content.metadata)
    metadata += (metadata.empty() ? "" : ",") + jsonString(key) + ":" + jsonString(text);
  std::printf("{%s%s%s}\n", member("file", jsonString(path)).c_str(),
              member("format", jsonString(content.format)).c_str(),
              member("metadata", "{" + metadata + "}", "").c_str());
  Totals totals;
  for (const Tensor& tensor : content.tensors) {
    totals.add(tensor);
    std::printf("%s\n", jsonOf(tensor).c_str());
  }
  std::printf("{%s%s%s}\n", member("tensors", std::to_string(content.tensors.size())).c_str(),
              member("numbers", std::to_string(totals.numbers)).c_str(),
              member("bytes", std::to_string(totals.bytes), "").c_str());
}

void print(const std::string& path, const Content& content, bool isJson) {
  (isJson ? printJson : printTable)(path, content);
}

}  // namespace

int inspect(std::span<const std::string> arguments) {
  bool isJson = false;
  Flags flags;
  flags.add("--json", "print one JSON object per line: the file, each tensor, the totals", isJson);
  std::vector<std::string> options, paths;
  for (const std::string& argument : arguments)
    (argument.starts_with("-") ? options : paths).push_back(argument);
  if (!flags.parseAll(options)) {
    std::printf(
        "usage: %s inspect FILE [options]\n\nFILE is a safetensors or .npy file, or the folder of a "
        "run or of a GPT-2.\n\n%s",
        self().c_str(), flags.help().c_str());
    return 0;
  }
  if (paths.size() != 1)
    throw BadInput(self() + " inspect: expected one FILE, got " + std::to_string(paths.size()) + "; see " +
                   self() + " inspect --help");
  std::string path = paths[0];
  if (const std::string file = fileInFolder(path); !file.empty()) path = file;
  switch (kindOf(path)) {
    case Kind::npy: {
      const NpyFile file(path);
      print(path, contentOf(file), isJson);
      break;
    }
    case Kind::safetensors: {
      const SafetensorsFile file(path);
      print(path, contentOf(file), isJson);
      break;
    }
  }
  return 0;
}

}  // namespace burt
