//! The context of a call, which stands on the caller's stack.
use crate::ffi::{tarsia_call_context, Api};

/// Runs `f` in a call of its own: what the call returns lives until `f` ends, and the memory that it took is freed then, also
/// if `f` panics.
pub(crate) fn within<R>(api: &Api, f: impl FnOnce() -> R) -> R {
    struct Leave<'a> {
        api: &'a Api,
        slot: *mut *mut tarsia_call_context,
        context: *mut tarsia_call_context,
    }
    impl Drop for Leave<'_> {
        fn drop(&mut self) {
            // SAFETY: the context is the one that was entered last on this thread, and still stands below.
            unsafe {
                *self.slot = (*self.context).outer;
                if !(*self.context).resources.is_null() {
                    (self.api.tarsia_free_resources)(self.context);
                }
            }
        }
    }
    // SAFETY: zeros are a value of every field: no callbacks, so that Tarsia's own are used.
    let mut context: tarsia_call_context = unsafe { std::mem::zeroed() };
    context.size = std::mem::size_of::<tarsia_call_context>() as u32;
    context.device = crate::Device::Cpu.raw();
    let context = std::ptr::addr_of_mut!(context);
    // SAFETY: the slot is this thread's. The context outlives `f`, after which it is taken out.
    let _leave = unsafe {
        let slot = (api.tarsia_call_slot)();
        (*context).outer = *slot;
        *slot = context;
        Leave { api, slot, context }
    };
    f()
}
