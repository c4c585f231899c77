# Our event files and the tensorboard package of this machine; BURTORCH_PYTHON names the interpreter.
add_executable(tensorboard_dump io/tensorboard_dump.cpp)
target_link_libraries(tensorboard_dump PRIVATE burtorch::compiled burtorch_warnings)
leave_plain(tensorboard_dump)
live_test(tensorboard_live COMMAND sh -c [[exec "${BURTORCH_PYTHON:-python3}" "$0" "$1"]]
  ${here}/io/tensorboard_live.py $<TARGET_FILE:tensorboard_dump>)
