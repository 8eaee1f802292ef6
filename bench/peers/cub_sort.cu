// SPDX-License-Identifier: Apache-2.0
// CUB's radix sort on the GPU at hand, for the rows "sort" of clvox bench:
//   nvcc -O3 -o cub_sort bench/peers/cub_sort.cu && ./cub_sort [COUNT]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cub/cub.cuh>

static double milliseconds(bool pairs, cub::DoubleBuffer<unsigned> keys, cub::DoubleBuffer<unsigned> values,
                           const unsigned *noise, size_t n)
{
    size_t room = 0;
    void *scratch = nullptr;
    if (pairs)
        cub::DeviceRadixSort::SortPairs(nullptr, room, keys, values, (int)n);
    else
        cub::DeviceRadixSort::SortKeys(nullptr, room, keys, (int)n);
    cudaMalloc(&scratch, room);
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    std::vector<float> times;
    for (int i = 0; i < 15; i++) {
        float ms;
        cudaMemcpy(keys.Current(), noise, 4 * n, cudaMemcpyDeviceToDevice);
        cudaEventRecord(start);
        if (pairs)
            cub::DeviceRadixSort::SortPairs(scratch, room, keys, values, (int)n);
        else
            cub::DeviceRadixSort::SortKeys(scratch, room, keys, (int)n);
        cudaEventRecord(stop);
        cudaEventSynchronize(stop);
        cudaEventElapsedTime(&ms, start, stop);
        times.push_back(ms);
    }
    cudaFree(scratch);
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoull(argv[1], nullptr, 0) : (size_t)1 << 26;
    std::vector<unsigned> host(n);
    unsigned long long state = 2011;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        host[i] = (unsigned)(state >> 32);
    }
    unsigned *noise, *k[2], *v[2];
    cudaMalloc(&noise, 4 * n);
    cudaMemcpy(noise, host.data(), 4 * n, cudaMemcpyHostToDevice);
    for (int i = 0; i < 2; i++) {
        cudaMalloc(&k[i], 4 * n);
        cudaMalloc(&v[i], 4 * n);
    }
    for (int pairs = 0; pairs < 2; pairs++) {
        double ms = milliseconds(pairs, cub::DoubleBuffer<unsigned>(k[0], k[1]), cub::DoubleBuffer<unsigned>(v[0], v[1]), noise, n);
        printf("CUB %s, %zu: %.3f ms, %.2f G/s\n", pairs ? "pairs" : "keys", n, ms, 1e-6 * (double)n / ms);
    }
    return cudaGetLastError() != cudaSuccess;
}
