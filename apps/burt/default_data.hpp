// The data that comes with burt: files of the folder data/, built into the program, so that it needs nothing else.
#pragma once

#include <string_view>

namespace burt::defaultData {

std::string_view scenes();
std::string_view names();
std::string_view breast_cancer();
std::string_view digits();

}  // namespace burt::defaultData
