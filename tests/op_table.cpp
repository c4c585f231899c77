// Prints the table of docs/operators.md from the list of operators; a test compares the two.
#include <burtorch/burtorch.hpp>
#include <cstdio>

int main() {
  std::puts("| name | opcode | takes | computes |\n|---|---|---|---|");
  for (const burtorch::OpInfo& info : burtorch::OpList::infos) {
    const char* takes = "";
    switch (info.arity) {
      case burtorch::Arity::leaf: takes = "nothing"; break;
      case burtorch::Arity::unary: takes = "a number"; break;
      case burtorch::Arity::binary: takes = "two numbers"; break;
      case burtorch::Arity::ternary: takes = "three numbers"; break;
      case burtorch::Arity::constant: takes = "a number, a constant"; break;
      case burtorch::Arity::varying:
      case burtorch::Arity::block: takes = "a list"; break;
      case burtorch::Arity::pair: takes = info.hasBias ? "two lists, a number" : "two lists"; break;
      case burtorch::Arity::layer: takes = "blocks"; break;
    }
    std::printf("| `%s` | `%s` | %s | %s |\n", info.name.data(), info.opcode.data(), takes,
                info.formula.data());
  }
}
