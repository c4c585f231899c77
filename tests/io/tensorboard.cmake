# Our event files and the tensorboard package of this machine; BURTORCH_PYTHON names the interpreter.
add_executable(tensorboard_dump io/tensorboard_dump.cpp)
target_link_libraries(tensorboard_dump PRIVATE burtorch::burtorch burtorch_warnings)
add_test(NAME tensorboard_live COMMAND sh -c [[exec "${BURTORCH_PYTHON:-python3}" "$0" "$1"]]
  ${CMAKE_CURRENT_SOURCE_DIR}/io/tensorboard_live.py $<TARGET_FILE:tensorboard_dump>)
set_tests_properties(tensorboard_live PROPERTIES LABELS full SKIP_RETURN_CODE 77 TIMEOUT 300)
