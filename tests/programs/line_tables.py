# Line tables of the standard library's code objects, as the interpreter decodes them.
#
#     VERSION FIRST TABLE      major << 8 | minor, the first line, the table in hex ("-": empty)
#     LINE ...                 the line of each code unit of two bytes; -1: none
#
# The lines come from PyCode_Addr2Line, as in tracebacks. The argument is the largest number of code
# objects.
import ctypes
import glob
import os
import sys
import types

line_of = ctypes.pythonapi.PyCode_Addr2Line
line_of.argtypes = [ctypes.py_object, ctypes.c_int]
line_of.restype = ctypes.c_int

VERSION = sys.version_info[0] << 8 | sys.version_info[1]
ODD = """
def f(x):
    return [
        y for y in x
        if y



        or not y]
""" + "\n" * 300 + """
try: g = lambda a: (a,
   a + 1)
finally: pass
class C:
    def m(self, *a, **k):
        with open(a) as b, open(b) as c:
            for i in b: yield i
            else:
                raise ValueError(
""" + " " * 400 + """i)
    async def n(self):
        async with self as s:
            async for i in s:
                await i
""" + "x = 1; " * 300 + "\nif x:\n" + "    x = x + (x if x else\n x)\n" * 200


def print_lines(code):
    table = code.co_linetable if VERSION >= 0x30A else code.co_lnotab
    print(VERSION, code.co_firstlineno, bytes(table).hex() or "-")
    print(*(line_of(code, at) for at in range(0, len(code.co_code), 2)))


def walk(code, left):
    if left > 0:
        print_lines(code)
        left -= 1
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            left = walk(constant, left)
    return left


left = walk(compile(ODD, "odd.py", "exec"), int(sys.argv[1]))
for path in sorted(glob.glob(os.path.join(os.path.dirname(os.__file__), "*.py"))):
    if left > 0:
        with open(path, "rb") as file:
            left = walk(compile(file.read(), path, "exec"), left)
