# Our files and the Python packages of this machine; BURTORCH_PYTHON names the interpreter.
add_executable(safetensors_dump reference/safetensors_dump.cpp)
add_executable(models_dump reference/models_dump.cpp)
# file_test(NAME PROGRAM): reference/NAME.py asks PROGRAM and the package.
function(file_test name program)
  target_link_libraries(${program} PRIVATE burtorch::compiled burtorch_warnings)
  leave_plain(${program})
  live_test(${name} COMMAND sh -c [[exec "${BURTORCH_PYTHON:-python3}" "$0" "$1"]]
    ${here}/reference/${name}.py $<TARGET_FILE:${program}>)
endfunction()
file_test(safetensors_live safetensors_dump)
file_test(npy_live safetensors_dump)
file_test(models_live models_dump)
