// What every reader of files refuses, whatever its format. `refusal(path)` is what the reader says.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "io/scratch.hpp"

template <class Refusal> void expectOnlyRegularFilesAreRead(Refusal refusal) {
  const Scratch scratch;
  ASSERT_EQ(mkfifo(scratch.path("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(contains(refusal(scratch.path("pipe")), "it is a pipe"));
  EXPECT_TRUE(contains(refusal(scratch.folder()), "it is a directory"));
  EXPECT_TRUE(contains(refusal(scratch.path("missing")), "there is no such file"));
  EXPECT_TRUE(contains(refusal("/dev/zero"), "a device"));
  EXPECT_TRUE(contains(refusal(scratch.put("empty", "")), "it is empty"));
}
template <class Refusal> void expectPermissionsAreRespected(Refusal refusal, const std::string& content) {
  const Scratch scratch;
  const std::string path = scratch.put("f", content);
  std::filesystem::permissions(scratch.folder(), std::filesystem::perms(0755));
  std::filesystem::permissions(path, std::filesystem::perms::none);
  const WithoutPrivileges user;
  EXPECT_TRUE(contains(refusal(path), "not permitted"));
}
