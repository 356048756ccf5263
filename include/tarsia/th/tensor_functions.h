/* The functions of one type of tensor that do not look at elements. Included once for each type, by
   <tarsia/th/each_type.h>, to declare them and to define them.

   TARSIA_TH_F(result, name, parameters, body): one function. TARSIA_TH_T, _S and _R are the tensor, the
   storage and the element; TARSIA_TH_STATE is the first parameter of THC's functions, TARSIA_TH_STATE_ALONE
   where it is the only one. In bodies, TARSIA_TH_K is what the core knows of the type (<tarsia/th/core.h>).
 */
// clang-format off: a line is a function

/* ---- storages ---- */
TARSIA_TH_FS(TARSIA_TH_R*, data, (TARSIA_TH_STATE const TARSIA_TH_S* self_), self_->data)
TARSIA_TH_FS(ptrdiff_t, size, (TARSIA_TH_STATE const TARSIA_TH_S* self_), self_->size)
TARSIA_TH_FS(size_t, elementSize, (TARSIA_TH_STATE_ALONE), static_cast<size_t>(TARSIA_TH_K.bytes))
TARSIA_TH_FS(TARSIA_TH_S*, new, (TARSIA_TH_STATE_ALONE), as<TARSIA_TH_S>(new_storage(TARSIA_TH_K, 0)))
TARSIA_TH_FS(TARSIA_TH_S*, newWithSize, (TARSIA_TH_STATE ptrdiff_t size_), as<TARSIA_TH_S>(new_storage(TARSIA_TH_K, size_)))
TARSIA_TH_FS(void, retain, (TARSIA_TH_STATE TARSIA_TH_S* self_), retain(storage(self_)))
TARSIA_TH_FS(void, free, (TARSIA_TH_STATE TARSIA_TH_S* self_), release(storage(self_)))
TARSIA_TH_FS(void, resize, (TARSIA_TH_STATE TARSIA_TH_S* self_, ptrdiff_t size_), grow(storage(self_), TARSIA_TH_K, size_))
TARSIA_TH_FS(void, setFlag, (TARSIA_TH_STATE TARSIA_TH_S* self_, char flag_), (void)(self_->flag |= flag_))
TARSIA_TH_FS(void, clearFlag, (TARSIA_TH_STATE TARSIA_TH_S* self_, char flag_), (void)(self_->flag &= ~flag_))

/* ---- what a tensor is ---- */
TARSIA_TH_F(TARSIA_TH_S*, storage, (TARSIA_TH_STATE const TARSIA_TH_T* self_), self_->storage)
TARSIA_TH_F(ptrdiff_t, storageOffset, (TARSIA_TH_STATE const TARSIA_TH_T* self_), self_->storageOffset)
TARSIA_TH_F(int, nDimension, (TARSIA_TH_STATE const TARSIA_TH_T* self_), self_->nDimension)
TARSIA_TH_F(int, _nDimension, (TARSIA_TH_STATE const TARSIA_TH_T* self_), self_->nDimension)
TARSIA_TH_F(long, size, (TARSIA_TH_STATE const TARSIA_TH_T* self_, int dimension_), size(tensor(self_), dimension_))
TARSIA_TH_F(long, stride, (TARSIA_TH_STATE const TARSIA_TH_T* self_, int dimension_), stride(tensor(self_), dimension_))
TARSIA_TH_F(THLongStorage*, newSizeOf, (TARSIA_TH_STATE TARSIA_TH_T* self_), numbers(tensor(self_), self_->size))
TARSIA_TH_F(THLongStorage*, newStrideOf, (TARSIA_TH_STATE TARSIA_TH_T* self_), numbers(tensor(self_), self_->stride))
TARSIA_TH_F(TARSIA_TH_R*, data, (TARSIA_TH_STATE const TARSIA_TH_T* self_), as<TARSIA_TH_R>(data(tensor(self_), TARSIA_TH_K)))
TARSIA_TH_F(ptrdiff_t, nElement, (TARSIA_TH_STATE const TARSIA_TH_T* self_), count(tensor(self_)))
TARSIA_TH_F(int, isContiguous, (TARSIA_TH_STATE const TARSIA_TH_T* self_), is_contiguous(tensor(self_)))
TARSIA_TH_F(int, isSameSizeAs, (TARSIA_TH_STATE const TARSIA_TH_T* self_, const TARSIA_TH_T* other_), is_same_size(tensor(self_), tensor(other_)))
TARSIA_TH_F(int, isSize, (TARSIA_TH_STATE const TARSIA_TH_T* self_, const THLongStorage* size_), has_size(tensor(self_), size_))
TARSIA_TH_F(int, isSetTo, (TARSIA_TH_STATE const TARSIA_TH_T* self_, const TARSIA_TH_T* other_), is_set_to(tensor(self_), tensor(other_)))
TARSIA_TH_F(void, setFlag, (TARSIA_TH_STATE TARSIA_TH_T* self_, char flag_), (void)(self_->flag |= flag_))
TARSIA_TH_F(void, clearFlag, (TARSIA_TH_STATE TARSIA_TH_T* self_, char flag_), (void)(self_->flag &= ~flag_))

/* ---- new ones, and their end ---- */
TARSIA_TH_F(TARSIA_TH_T*, new, (TARSIA_TH_STATE_ALONE), as<TARSIA_TH_T>(new_tensor()))
TARSIA_TH_F(TARSIA_TH_T*, newWithTensor, (TARSIA_TH_STATE TARSIA_TH_T* other_), as<TARSIA_TH_T>(new_view(tensor(other_))))
TARSIA_TH_F(TARSIA_TH_T*, newWithSize, (TARSIA_TH_STATE THLongStorage* size_, THLongStorage* stride_), as<TARSIA_TH_T>(new_sized(TARSIA_TH_K, size_, stride_)))
TARSIA_TH_F(TARSIA_TH_T*, newWithSize1d, (TARSIA_TH_STATE long n0_), as<TARSIA_TH_T>(new_sized(TARSIA_TH_K, {n0_})))
TARSIA_TH_F(TARSIA_TH_T*, newWithSize2d, (TARSIA_TH_STATE long n0_, long n1_), as<TARSIA_TH_T>(new_sized(TARSIA_TH_K, {n0_, n1_})))
TARSIA_TH_F(TARSIA_TH_T*, newWithSize3d, (TARSIA_TH_STATE long n0_, long n1_, long n2_), as<TARSIA_TH_T>(new_sized(TARSIA_TH_K, {n0_, n1_, n2_})))
TARSIA_TH_F(TARSIA_TH_T*, newWithSize4d, (TARSIA_TH_STATE long n0_, long n1_, long n2_, long n3_), as<TARSIA_TH_T>(new_sized(TARSIA_TH_K, {n0_, n1_, n2_, n3_})))
TARSIA_TH_F(TARSIA_TH_T*, newWithStorage, (TARSIA_TH_STATE TARSIA_TH_S* storage_, ptrdiff_t offset_, THLongStorage* size_, THLongStorage* stride_), as<TARSIA_TH_T>(new_over(TARSIA_TH_K, storage(storage_), offset_, size_, stride_)))
TARSIA_TH_F(TARSIA_TH_T*, newWithStorage1d, (TARSIA_TH_STATE TARSIA_TH_S* storage_, ptrdiff_t offset_, long n0_, long s0_), as<TARSIA_TH_T>(set_over(new_tensor(), TARSIA_TH_K, storage(storage_), offset_, {n0_}, {s0_})))
TARSIA_TH_F(TARSIA_TH_T*, newWithStorage2d, (TARSIA_TH_STATE TARSIA_TH_S* storage_, ptrdiff_t offset_, long n0_, long s0_, long n1_, long s1_), as<TARSIA_TH_T>(set_over(new_tensor(), TARSIA_TH_K, storage(storage_), offset_, {n0_, n1_}, {s0_, s1_})))
TARSIA_TH_F(TARSIA_TH_T*, newWithStorage3d, (TARSIA_TH_STATE TARSIA_TH_S* storage_, ptrdiff_t offset_, long n0_, long s0_, long n1_, long s1_, long n2_, long s2_), as<TARSIA_TH_T>(set_over(new_tensor(), TARSIA_TH_K, storage(storage_), offset_, {n0_, n1_, n2_}, {s0_, s1_, s2_})))
TARSIA_TH_F(TARSIA_TH_T*, newWithStorage4d, (TARSIA_TH_STATE TARSIA_TH_S* storage_, ptrdiff_t offset_, long n0_, long s0_, long n1_, long s1_, long n2_, long s2_, long n3_, long s3_), as<TARSIA_TH_T>(set_over(new_tensor(), TARSIA_TH_K, storage(storage_), offset_, {n0_, n1_, n2_, n3_}, {s0_, s1_, s2_, s3_})))
TARSIA_TH_F(TARSIA_TH_T*, newSelect, (TARSIA_TH_STATE TARSIA_TH_T* other_, int dimension_, long index_), as<TARSIA_TH_T>(select(new_view(tensor(other_)), dimension_, index_)))
TARSIA_TH_F(TARSIA_TH_T*, newNarrow, (TARSIA_TH_STATE TARSIA_TH_T* other_, int dimension_, long first_, long n_), as<TARSIA_TH_T>(narrow(new_view(tensor(other_)), dimension_, first_, n_)))
TARSIA_TH_F(TARSIA_TH_T*, newTranspose, (TARSIA_TH_STATE TARSIA_TH_T* other_, int a_, int b_), as<TARSIA_TH_T>(transpose(new_view(tensor(other_)), a_, b_)))
TARSIA_TH_F(TARSIA_TH_T*, newUnfold, (TARSIA_TH_STATE TARSIA_TH_T* other_, int dimension_, long n_, long step_), as<TARSIA_TH_T>(unfold(new_view(tensor(other_)), dimension_, n_, step_)))
TARSIA_TH_F(TARSIA_TH_T*, newView, (TARSIA_TH_STATE TARSIA_TH_T* other_, THLongStorage* size_), as<TARSIA_TH_T>(new_shaped(tensor(other_), size_)))
TARSIA_TH_F(TARSIA_TH_T*, newExpand, (TARSIA_TH_STATE TARSIA_TH_T* other_, THLongStorage* size_), as<TARSIA_TH_T>(new_expanded(tensor(other_), size_)))
TARSIA_TH_F(void, retain, (TARSIA_TH_STATE TARSIA_TH_T* self_), retain(tensor(self_)))
TARSIA_TH_F(void, free, (TARSIA_TH_STATE TARSIA_TH_T* self_), release(tensor(self_)))

/* ---- other sizes: of a caller's tensor, the caller's own tensor gets them ---- */
TARSIA_TH_F(void, resize, (TARSIA_TH_STATE TARSIA_TH_T* self_, THLongStorage* size_, THLongStorage* stride_), resize(tensor(self_), TARSIA_TH_K, size_, stride_))
TARSIA_TH_F(void, resizeNd, (TARSIA_TH_STATE TARSIA_TH_T* self_, int n_, long* size_, long* stride_), resize(tensor(self_), TARSIA_TH_K, n_, size_, stride_))
TARSIA_TH_F(void, resizeAs, (TARSIA_TH_STATE TARSIA_TH_T* self_, const TARSIA_TH_T* other_), resize_as(tensor(self_), TARSIA_TH_K, tensor(other_)))
TARSIA_TH_F(void, resize1d, (TARSIA_TH_STATE TARSIA_TH_T* self_, long n0_), resize(tensor(self_), TARSIA_TH_K, {n0_}))
TARSIA_TH_F(void, resize2d, (TARSIA_TH_STATE TARSIA_TH_T* self_, long n0_, long n1_), resize(tensor(self_), TARSIA_TH_K, {n0_, n1_}))
TARSIA_TH_F(void, resize3d, (TARSIA_TH_STATE TARSIA_TH_T* self_, long n0_, long n1_, long n2_), resize(tensor(self_), TARSIA_TH_K, {n0_, n1_, n2_}))
TARSIA_TH_F(void, resize4d, (TARSIA_TH_STATE TARSIA_TH_T* self_, long n0_, long n1_, long n2_, long n3_), resize(tensor(self_), TARSIA_TH_K, {n0_, n1_, n2_, n3_}))
TARSIA_TH_F(void, resize5d, (TARSIA_TH_STATE TARSIA_TH_T* self_, long n0_, long n1_, long n2_, long n3_, long n4_), resize(tensor(self_), TARSIA_TH_K, {n0_, n1_, n2_, n3_, n4_}))

/* ---- other views. `other_` may be null: `self_` itself is changed ---- */
TARSIA_TH_F(void, set, (TARSIA_TH_STATE TARSIA_TH_T* self_, TARSIA_TH_T* other_), (void)set(tensor(self_), tensor(other_)))
TARSIA_TH_F(void, setStorage, (TARSIA_TH_STATE TARSIA_TH_T* self_, TARSIA_TH_S* storage_, ptrdiff_t offset_, THLongStorage* size_, THLongStorage* stride_), set_over(tensor(self_), TARSIA_TH_K, storage(storage_), offset_, size_, stride_))
TARSIA_TH_F(void, setStorage1d, (TARSIA_TH_STATE TARSIA_TH_T* self_, TARSIA_TH_S* storage_, ptrdiff_t offset_, long n0_, long s0_), (void)set_over(tensor(self_), TARSIA_TH_K, storage(storage_), offset_, {n0_}, {s0_}))
TARSIA_TH_F(void, setStorage2d, (TARSIA_TH_STATE TARSIA_TH_T* self_, TARSIA_TH_S* storage_, ptrdiff_t offset_, long n0_, long s0_, long n1_, long s1_), (void)set_over(tensor(self_), TARSIA_TH_K, storage(storage_), offset_, {n0_, n1_}, {s0_, s1_}))
TARSIA_TH_F(void, setStorage3d, (TARSIA_TH_STATE TARSIA_TH_T* self_, TARSIA_TH_S* storage_, ptrdiff_t offset_, long n0_, long s0_, long n1_, long s1_, long n2_, long s2_), (void)set_over(tensor(self_), TARSIA_TH_K, storage(storage_), offset_, {n0_, n1_, n2_}, {s0_, s1_, s2_}))
TARSIA_TH_F(void, setStorage4d, (TARSIA_TH_STATE TARSIA_TH_T* self_, TARSIA_TH_S* storage_, ptrdiff_t offset_, long n0_, long s0_, long n1_, long s1_, long n2_, long s2_, long n3_, long s3_), (void)set_over(tensor(self_), TARSIA_TH_K, storage(storage_), offset_, {n0_, n1_, n2_, n3_}, {s0_, s1_, s2_, s3_}))
TARSIA_TH_F(void, select, (TARSIA_TH_STATE TARSIA_TH_T* self_, TARSIA_TH_T* other_, int dimension_, long index_), (void)select(set(tensor(self_), tensor(other_)), dimension_, index_))
TARSIA_TH_F(void, narrow, (TARSIA_TH_STATE TARSIA_TH_T* self_, TARSIA_TH_T* other_, int dimension_, long first_, long n_), (void)narrow(set(tensor(self_), tensor(other_)), dimension_, first_, n_))
TARSIA_TH_F(void, transpose, (TARSIA_TH_STATE TARSIA_TH_T* self_, TARSIA_TH_T* other_, int a_, int b_), (void)transpose(set(tensor(self_), tensor(other_)), a_, b_))
TARSIA_TH_F(void, unfold, (TARSIA_TH_STATE TARSIA_TH_T* self_, TARSIA_TH_T* other_, int dimension_, long n_, long step_), (void)unfold(set(tensor(self_), tensor(other_)), dimension_, n_, step_))
TARSIA_TH_F(void, squeeze, (TARSIA_TH_STATE TARSIA_TH_T* self_, TARSIA_TH_T* other_), squeeze(set(tensor(self_), tensor(other_))))
TARSIA_TH_F(void, squeeze1d, (TARSIA_TH_STATE TARSIA_TH_T* self_, TARSIA_TH_T* other_, int dimension_), squeeze(set(tensor(self_), tensor(other_)), dimension_))
TARSIA_TH_F(void, unsqueeze1d, (TARSIA_TH_STATE TARSIA_TH_T* self_, TARSIA_TH_T* other_, int dimension_), unsqueeze(set(tensor(self_), tensor(other_)), dimension_))
