//! Lets V8 create closures and accessors in the young generation. V8 creates a closure that is assigned to a property (`object.method = () => …`),
//! and the record of the functions of an accessor, in the old generation. There they keep alive whatever these functions refer to until all of
//! the heap is collected. A program that builds its objects in this way for each call, as evaluators of expressions do, would fill the old
//! generation with them. On Linux the linker redirects the functions that V8 calls for this to this module (`build.rs`).
//!
//! V8 relies on the old generation for one of them: the record of an accessor can be a handler in a stub cache, so `stub_cache` accepts no young ones.

use std::ffi::c_void;
use std::ptr;

type Object = *mut c_void;

/// A `v8::internal::Handle`: the address of a place that has a tagged pointer.
type Handle = *const *const u8;

unsafe extern "C" {
    /// `v8::internal::interpreter::CreateClosureFlags::Encode`.
    #[link_name = "__real__ZN2v88internal11interpreter18CreateClosureFlags6EncodeEbb"]
    fn closure_flags(old: bool, in_function: bool) -> u8;
    /// `v8::internal::FactoryBase<Factory>::NewAccessorPair`.
    #[link_name = "__real__ZN2v88internal11FactoryBaseINS0_7FactoryEE15NewAccessorPairEv"]
    fn new_accessors(factory: Object) -> Handle;
    /// `v8::internal::FactoryBase<Factory>::NewStruct`.
    #[link_name = "_ZN2v88internal11FactoryBaseINS0_7FactoryEE9NewStructENS0_12InstanceTypeENS0_14AllocationTypeE"]
    fn new_struct(factory: Object, kind: u16, generation: u8) -> Handle;
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v88internal11interpreter18CreateClosureFlags6EncodeEbb",
    ".hidden __wrap__ZN2v88internal11FactoryBaseINS0_7FactoryEE15NewAccessorPairEv"
);

/// The flags of an instruction that creates a closure: whether in the old generation, and whether the code is that of a function.
#[unsafe(no_mangle)]
extern "C" fn __wrap__ZN2v88internal11interpreter18CreateClosureFlags6EncodeEbb(_old: bool, in_function: bool) -> u8 {
    // SAFETY: forwards the call. V8 creates other closures in the same way.
    unsafe { closure_flags(false, in_function) }
}

/// `AllocationType::kYoung`.
const YOUNG: u8 = 0;

/// The tag of pointers to objects.
const TAG: usize = 1;

/// `Internals::kMapInstanceTypeOffset`.
const KIND: usize = 12;

/// The fields of an `AccessorPair`, after its map.
type Accessors = [usize; 2];
const FIELDS: usize = size_of::<usize>();

/// An `AccessorPair` without functions.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal11FactoryBaseINS0_7FactoryEE15NewAccessorPairEv(factory: Object) -> Handle {
    // SAFETY: V8 passes its factory. An object begins with its map, which has the kind of the object. Both objects are of one kind, and so of one
    // size. Nothing is allocated between reading an object's address and using it, so it does not move. The fields are immortal: V8's `null`.
    unsafe {
        let old = new_accessors(factory);
        let map = (*old).sub(TAG).cast::<*const u8>().read();
        let kind = map.sub(TAG).add(KIND).cast::<u16>().read();
        let young = new_struct(factory, kind, YOUNG);
        let fields = (*old).sub(TAG).add(FIELDS).cast::<Accessors>();
        ptr::copy_nonoverlapping(fields, (*young).sub(TAG).add(FIELDS).cast::<Accessors>().cast_mut(), 1);
        young
    }
}
