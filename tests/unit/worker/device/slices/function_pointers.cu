// expect: kernel apply, kernel shapes, kernel tree, variable d_ops
typedef float (*op_t)(float, float);
__device__ float add_op(float a, float b) { return a + b; }
__device__ float mul_op(float a, float b) { return a * b; }
__device__ op_t d_ops[2] = {add_op, mul_op};
__global__ void apply(const float *a, const float *b, float *c, int which) {
  c[threadIdx.x] = d_ops[which](a[threadIdx.x], b[threadIdx.x]);
}
class Shape {
 public:
  __host__ __device__ Shape() {}
  __host__ __device__ virtual ~Shape() {}
  __host__ __device__ virtual float area() const = 0;
};
class Circle : public Shape {
  float r;

 public:
  __host__ __device__ explicit Circle(float radius) : r(radius) {}
  __host__ __device__ float area() const override { return 3.14159f * r * r; }
};
class Square final : public Shape {
  float a;

 public:
  __host__ __device__ explicit Square(float side) : a(side) {}
  __host__ __device__ float area() const override { return a * a; }
};
__global__ void shapes(float *out) {
  Shape *s = threadIdx.x & 1 ? (Shape *)new Circle(2.0f) : (Shape *)new Square(3.0f);
  out[threadIdx.x] = s->area();
  delete s;
}
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
struct Node { Node *left, *right; int key; };
__device__ Node *insert(Node *root, int key) {
  if (!root) {
    Node *n = (Node *)malloc(sizeof(Node));
    n->left = n->right = nullptr;
    n->key = key;
    return n;
  }
  (key < root->key ? root->left : root->right) = insert(key < root->key ? root->left : root->right, key);
  return root;
}
__global__ void tree(int *out) {
  Node *root = nullptr;
  for (int i = 0; i < 4; ++i) root = insert(root, (i * 7) % 5);
  auto twice = [=](int x) { return 2 * x + root->key; };
  out[0] = twice(fib(10));
  free(root);
}
