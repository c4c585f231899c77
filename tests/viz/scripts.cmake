# Generated scripts and pictures, read back by Python; BURTORCH_PYTHON names an interpreter that has Matplotlib.
add_executable(script_dump viz/script_dump.cpp)
target_link_libraries(script_dump PRIVATE burtorch::compiled burtorch_warnings)
leave_plain(script_dump)
live_test(viz_scripts COMMAND sh -c [[exec "${BURTORCH_PYTHON:-python3}" "$0" "$1"]]
  ${here}/viz/scripts.py $<TARGET_FILE:script_dump>)
