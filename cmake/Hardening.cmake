# Compiler and linker flags that limit the damage of unknown errors: for optimised builds without a
# sanitizer, on Linux. packaging/check.py checks each of them in finished files. The file `hardened` of
# the build folder contains them for the libraries that scripts/release compiles.
set(MV_HARDEN_COMPILE -fstack-protector-strong -fstack-clash-protection)
set(MV_HARDEN_LINK -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code)

# Older compilers take 3 as 2, with a warning.
set(level 3)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 12)
  set(level 2)
endif()
list(APPEND MV_HARDEN_COMPILE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level})

# Distributions' startup objects are not marked for the shadow stack, so a linker option marks the program. There is
# no such option here for indirect branches: linked libraries are not marked for them.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND MV_HARDEN_COMPILE -fcf-protection=full)
  list(APPEND MV_HARDEN_LINK -Wl,-z,shstk)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
  list(APPEND MV_HARDEN_COMPILE -mbranch-protection=standard)
endif()

set(wanted OFF)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$"
   AND NOT MV_SANITIZE AND NOT MV_FUZZ)
  set(wanted ON)
endif()
option(MV_HARDEN "what protects against errors that are not known (cmake/Hardening.cmake)" ${wanted})

list(JOIN MV_HARDEN_COMPILE " " compile)
list(JOIN MV_HARDEN_LINK " " link)
file(WRITE ${CMAKE_BINARY_DIR}/hardened "hard_compile='${compile}'\nhard_link='${link}'\n")
if(MV_HARDEN)
  # Shared libraries are compiled for any address already, and for others' symbols besides.
  set(is_program $<IN_LIST:$<TARGET_PROPERTY:TYPE>,EXECUTABLE$<SEMICOLON>STATIC_LIBRARY>)
  add_compile_options(${MV_HARDEN_COMPILE} $<${is_program}:-fPIE>)
  add_link_options(${MV_HARDEN_LINK} $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)
endif()
