//! After its largest batch, a thread allocates no more memory.
#![expect(unsafe_code, reason = "a global allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ouro_bench::network_cases;
use ouro_net::synthetic::{random_planes, random_weights};
use ouro_net::{Engine, Scratch};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's contract is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_warm_scratch_allocates_nothing_whatever_the_batch() {
    const LARGEST: usize = 40;
    let nets: Vec<(Engine, Vec<f32>)> = network_cases()
        .iter()
        .map(|case| {
            let weights = random_weights(&case.spec, 1).expect("the case is valid");
            (Engine::new(&weights), random_planes(&case.spec, LARGEST, 2))
        })
        .collect();
    let mut scratch = Scratch::new();
    let (mut logits, mut values) = (vec![0.0; LARGEST * 4], vec![0.0; LARGEST]);
    let mut round = |batches: &[usize]| {
        for (engine, planes) in &nets {
            for &batch in batches {
                let planes = &planes[..batch * engine.spec().planes.len()];
                let (logits, values) = (&mut logits[..batch * 4], &mut values[..batch]);
                engine.evaluate(&mut scratch, planes, logits, values);
            }
        }
    };
    round(&[LARGEST]);
    let before = ALLOCATIONS.with(Cell::get);
    round(&[1, LARGEST, 7, 0, 32]);
    assert_eq!(ALLOCATIONS.with(Cell::get), before);
}
