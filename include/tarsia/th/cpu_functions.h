/* The functions of one type of tensor that TH has on the CPU alone here: as <tarsia/th/value_functions.h>. */
// clang-format off: a line is a function

/* Memory of THAlloc() or malloc(), which the storage frees. Without its flag TH_STORAGE_FREEMEM it does not. */
TARSIA_TH_FS(TARSIA_TH_S*, newWithData, (TARSIA_TH_R* data_, ptrdiff_t size_), as<TARSIA_TH_S>(new_storage_over(data_, size_)))

/* ---- along a dimension: without `keep_`, the result has one dimension less, unless it is the only one ---- */
TARSIA_TH_F(void, sum, (TARSIA_TH_T* r_, TARSIA_TH_T* t_, int dimension_, int keep_), sum<TARSIA_TH_R, TARSIA_TH_A>(tensor(r_), TARSIA_TH_K, tensor(t_), dimension_, keep_, false))
TARSIA_TH_F(void, prod, (TARSIA_TH_T* r_, TARSIA_TH_T* t_, int dimension_, int keep_), sum<TARSIA_TH_R, TARSIA_TH_A>(tensor(r_), TARSIA_TH_K, tensor(t_), dimension_, keep_, true))
TARSIA_TH_F(void, max, (TARSIA_TH_T* r_, THLongTensor* places_, TARSIA_TH_T* t_, int dimension_, int keep_), most<TARSIA_TH_R>(tensor(r_), TARSIA_TH_K, tensor(places_), tensor(t_), dimension_, keep_, false))
TARSIA_TH_F(void, min, (TARSIA_TH_T* r_, THLongTensor* places_, TARSIA_TH_T* t_, int dimension_, int keep_), most<TARSIA_TH_R>(tensor(r_), TARSIA_TH_K, tensor(places_), tensor(t_), dimension_, keep_, true))
TARSIA_TH_F(void, cumsum, (TARSIA_TH_T* r_, TARSIA_TH_T* t_, int dimension_), cumulate<TARSIA_TH_R, TARSIA_TH_A>(tensor(r_), TARSIA_TH_K, tensor(t_), dimension_, false))
TARSIA_TH_F(void, cumprod, (TARSIA_TH_T* r_, TARSIA_TH_T* t_, int dimension_), cumulate<TARSIA_TH_R, TARSIA_TH_A>(tensor(r_), TARSIA_TH_K, tensor(t_), dimension_, true))
TARSIA_TH_F(void, cat, (TARSIA_TH_T* r_, TARSIA_TH_T* a_, TARSIA_TH_T* b_, int dimension_), cat<TARSIA_TH_R>(tensor(r_), TARSIA_TH_K, tensor(a_), tensor(b_), dimension_))
TARSIA_TH_F(void, catArray, (TARSIA_TH_T* r_, TARSIA_TH_T** parts_, int n_, int dimension_), cat<TARSIA_TH_R>(tensor(r_), TARSIA_TH_K, reinterpret_cast<View* const*>(parts_), n_, dimension_))
TARSIA_TH_F(void, indexSelect, (TARSIA_TH_T* r_, TARSIA_TH_T* t_, int dimension_, THLongTensor* index_), index_select<TARSIA_TH_R>(tensor(r_), TARSIA_TH_K, tensor(t_), dimension_, tensor(index_)))
TARSIA_TH_F(void, indexCopy, (TARSIA_TH_T* r_, int dimension_, THLongTensor* index_, TARSIA_TH_T* t_), index_copy<TARSIA_TH_R>(tensor(r_), dimension_, tensor(index_), tensor(t_), false))
TARSIA_TH_F(void, indexAdd, (TARSIA_TH_T* r_, int dimension_, THLongTensor* index_, TARSIA_TH_T* t_), index_copy<TARSIA_TH_R>(tensor(r_), dimension_, tensor(index_), tensor(t_), true))
TARSIA_TH_F(void, indexFill, (TARSIA_TH_T* r_, int dimension_, THLongTensor* index_, TARSIA_TH_R value_), index_fill<TARSIA_TH_R>(tensor(r_), dimension_, tensor(index_), value_))
TARSIA_TH_F(int, equal, (TARSIA_TH_T* a_, TARSIA_TH_T* b_), equal<TARSIA_TH_R>(tensor(a_), tensor(b_)))
#if defined(TARSIA_TH_IS_FLOATING)
TARSIA_TH_F(void, mean, (TARSIA_TH_T* r_, TARSIA_TH_T* t_, int dimension_, int keep_), mean<TARSIA_TH_R>(tensor(r_), TARSIA_TH_K, tensor(t_), dimension_, keep_))
TARSIA_TH_F(void, norm, (TARSIA_TH_T* r_, TARSIA_TH_T* t_, TARSIA_TH_R p_, int dimension_, int keep_), norm<TARSIA_TH_R>(tensor(r_), TARSIA_TH_K, tensor(t_), p_, dimension_, keep_))
TARSIA_TH_F(void, var, (TARSIA_TH_T* r_, TARSIA_TH_T* t_, int dimension_, int biased_, int keep_), var<TARSIA_TH_R>(tensor(r_), TARSIA_TH_K, tensor(t_), dimension_, biased_, keep_, false))
TARSIA_TH_F(void, std, (TARSIA_TH_T* r_, TARSIA_TH_T* t_, int dimension_, int biased_, int keep_), var<TARSIA_TH_R>(tensor(r_), TARSIA_TH_K, tensor(t_), dimension_, biased_, keep_, true))
TARSIA_TH_F(TARSIA_TH_A, normall, (TARSIA_TH_T* t_, TARSIA_TH_R p_), norm_all<TARSIA_TH_R>(tensor(t_), p_))
TARSIA_TH_F(TARSIA_TH_A, varall, (TARSIA_TH_T* t_, int biased_), var_all<TARSIA_TH_R>(tensor(t_), biased_))
TARSIA_TH_F(TARSIA_TH_A, stdall, (TARSIA_TH_T* t_, int biased_), ::sqrt(var_all<TARSIA_TH_R>(tensor(t_), biased_)))
TARSIA_TH_F(TARSIA_TH_A, dist, (TARSIA_TH_T* a_, TARSIA_TH_T* b_, TARSIA_TH_R p_), dist<TARSIA_TH_R>(tensor(a_), tensor(b_), p_))
TARSIA_TH_F(void, addr, (TARSIA_TH_T* r_, TARSIA_TH_R beta_, TARSIA_TH_T* t_, TARSIA_TH_R alpha_, TARSIA_TH_T* a_, TARSIA_TH_T* b_), addr<TARSIA_TH_R>(tensor(r_), TARSIA_TH_K, beta_, tensor(t_), alpha_, tensor(a_), tensor(b_)))
TARSIA_TH_F(void, baddbmm, (TARSIA_TH_T* r_, TARSIA_TH_R beta_, TARSIA_TH_T* t_, TARSIA_TH_R alpha_, TARSIA_TH_T* a_, TARSIA_TH_T* b_), baddbmm<TARSIA_TH_R>(tensor(r_), TARSIA_TH_K, beta_, tensor(t_), alpha_, tensor(a_), tensor(b_)))
#endif
