/* A library that calls CUDA, for programs in any language that can load libraries. */
#include <stddef.h>

int cudaMalloc(void **out, size_t size);
int cudaFree(void *memory);
int plug_go(int calls);

/* Returns the number of calls that succeeded. */
int plug_go(int calls)
{
    int good = 0;

    for (int i = 0; i < calls; i++) {
        void *memory = NULL;
        good += cudaMalloc(&memory, 2000 + (size_t)i) == 0 && cudaFree(memory) == 0;
    }
    return good;
}

#ifdef NODE
/* Node calls this function after it has opened an add-on. */
void *napi_register_module_v1(void *environment, void *exports);
void *napi_register_module_v1(void *environment, void *exports)
{
    (void)environment;
    plug_go(10);
    return exports;
}
#endif

#ifdef JAVA
#include <jni.h>
JNIEXPORT jint JNICALL Java_Calls_go(JNIEnv *environment, jclass class, jint calls);
JNIEXPORT jint JNICALL Java_Calls_go(JNIEnv *environment, jclass class, jint calls)
{
    (void)environment, (void)class;
    return plug_go(calls);
}
#endif
