# Makes one C array of text files: cmake -DOUT=x.c -DNAME=mv_x -DFILES="a.js|b.js" -P embed.cmake
# An array and no string literal: C99 promises 4095 characters of those alone.
string(REPLACE "|" ";" FILES "${FILES}")
set(HEX "")
foreach(file ${FILES})
  file(READ ${file} CONTENT HEX)
  string(APPEND HEX "${CONTENT}")
endforeach()
string(REGEX REPLACE "(................................)" "\\1\n" HEX "${HEX}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," HEX "${HEX}")
file(WRITE ${OUT} "#include \"viz/html/html_parts.h\"\n\nconst char ${NAME}[] = {\n${HEX}0};\n")
