// Calls CUDA through a C library, from many goroutines, among collections of garbage.
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
static int go_by(const char *path, int calls) {
	void *library = dlopen(path, RTLD_NOW);
	int (*use)(int) = library ? (int (*)(int))dlsym(library, "plug_go") : 0;
	return use ? use(calls) : -1;
}
*/
import "C"

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"unsafe"
)

func main() {
	path := C.CString(os.Getenv("GUEST_PLUG"))
	defer C.free(unsafe.Pointer(path))
	var all sync.WaitGroup
	sums := make([]int, 20)
	for i := range sums {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			for k := 0; k < 10; k++ {
				sums[i] += int(C.go_by(path, 5))
				_ = make([]byte, 1<<16)
				runtime.Gosched()
			}
		}(i)
	}
	all.Wait()
	runtime.GC()
	sum := 0
	for _, s := range sums {
		sum += s
	}
	out, err := exec.Command("/bin/echo", "a child").Output()
	fmt.Println("calls", sum*2, string(out), err)
}
