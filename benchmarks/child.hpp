// A program that runs beside the harness, with its input and output in the harness's hands. No shell.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace bench {

class Child {
 public:
  /// Starts the program, which is looked for as a shell would; what it says on standard error goes to the file `errors`, if
  /// one is named.
  explicit Child(const std::vector<std::string>& command, const std::string& errors = "");
  ~Child() { finish(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// 0 if it did not start or has ended.
  pid_t id() const { return id_; }
  /// False if it is not there any more.
  bool say(const std::string& line);
  /// The next line, without its end; false if there is none within `patienceMs`.
  bool hear(std::string& line, int patienceMs = 600'000);
  /// Waits for a program that ends by itself, as long as it takes. Its exit code.
  int wait() {
    for (std::string line; hear(line, -1);) {
    }
    return finish();
  }
  /// Ends its input and waits for it. Its exit code; -1 if it was ended by a signal, ours after five seconds.
  int finish();

 private:
  pid_t id_ = 0;
  int to_ = -1, from_ = -1, code_ = -1;
  std::string pending_;
};

}  // namespace bench
