// Calls CUDA from threads, one of which panics in between.
use std::os::raw::{c_int, c_void};
use std::panic;
use std::thread;

extern "C" {
    fn cudaMalloc(out: *mut *mut c_void, size: usize) -> c_int;
    fn cudaFree(memory: *mut c_void) -> c_int;
}

fn go(calls: usize) -> usize {
    let mut good = 0;
    for i in 0..calls {
        let mut memory: *mut c_void = std::ptr::null_mut();
        unsafe {
            if cudaMalloc(&mut memory, 1000 + i) == 0 && cudaFree(memory) == 0 {
                good += 2;
            }
        }
    }
    good
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let all: Vec<_> = (0..10).map(|_| thread::spawn(|| go(50))).collect();
    let sum: usize = all.into_iter().map(|t| t.join().unwrap()).sum();
    let failed = thread::spawn(|| { go(5); panic!("as planned") }).join().is_err();
    println!("calls {} {}", sum + 10, failed);
}
