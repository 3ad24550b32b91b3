"""Numbers, keywords and draws of environments in Python: the same bits, or a refusal."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._contract import twins
from tests.translator.probes import Probe
from tests.translator.translator_sources import OF_TRANSLATED

pytestmark = pytest.mark.proven(*OF_TRANSLATED)


class FitsIntoSmallTypes(Probe):
    size = 34

    def values(self, action):
        n = int(action[0] * 150)
        x = float(action[1] * 200)
        y = action[1] * 200
        u = np.array([44, 255, self.steps], dtype=np.uint8)
        i8 = np.zeros(3, np.int8)
        i = np.zeros(3, np.int64)
        w = np.array([2**62 + 5, 3, self.steps], dtype=np.uint64)
        r = [0.0] * 34
        try:
            r[0] = (u + n)[0]
        except OverflowError:
            r[0] = -1
        try:
            r[1] = (n - u)[0]
        except OverflowError:
            r[1] = -1
        try:
            r[2] = u[0] + n
        except OverflowError:
            r[2] = -1
        try:
            u[0] = n
            r[3] = u[0]
        except OverflowError:
            r[3] = -1
        try:
            i8[0] = x
            r[4] = i8[0]
        except OverflowError:
            r[4] = -1
        try:
            i8[1] = y
            r[5] = i8[1]
        except OverflowError:
            r[5] = -1
        try:
            i8[:] = n
            r[6] = i8[1]
        except OverflowError:
            r[6] = -1
        try:
            u[1:] = [n, 1]
            r[7] = u[1]
        except OverflowError:
            r[7] = -1
        try:
            r[8] = np.int8(n)
        except OverflowError:
            r[8] = -1
        try:
            r[9] = np.uint8(x)
        except OverflowError:
            r[9] = -1
        try:
            r[10] = np.full(2, n, np.uint8)[1]
        except OverflowError:
            r[10] = -1
        try:
            r[11] = np.array([n, 1], np.uint8)[0]
        except OverflowError:
            r[11] = -1
        try:
            r[12] = np.array([[n, 1], [2, 3]], dtype=np.int8)[0, 0]
        except OverflowError:
            r[12] = -1
        try:
            r[13] = np.maximum(u, n)[2]
        except OverflowError:
            r[13] = -1
        r[14] = np.clip(u, -5, n if n > 0 else 7)[1]
        r[15] = (u == 300).sum()
        r[16] = (u < n).sum()
        r[17] = (u > -1).sum()
        r[18] = (w > n).sum()
        r[19] = (w == w).sum()
        r[20] = (w > i).sum()
        try:
            r[21] = (w + n)[1]
        except OverflowError:
            r[21] = -1
        try:
            i8.fill(n)
            r[22] = i8[0]
        except OverflowError:
            r[22] = -1
        try:
            i8[i8 > -5] = n
            r[23] = i8[0]
        except OverflowError:
            r[23] = -1
        items = [n, 3]
        items.append(n)
        try:
            r[24] = np.array(items, dtype=np.uint8)[0]
        except OverflowError:
            r[24] = -1
        r[25] = np.where(u > 3, n, u)[0] if n >= 0 else 0
        r[26] = (u / n)[0] if n else 0
        r[27] = np.array([n, 1])[0]
        try:
            r[28] = np.full_like(u, n)[0]
        except OverflowError:
            r[28] = -1
        try:
            u += n
            r[29] = u[0]
        except OverflowError:
            r[29] = -1
        r[30] = np.full(2, x, np.uint8)[0]
        r[31] = u[2] == n
        r[32] = np.array([np.int64(n)], np.uint8)[0]
        r[33] = (u & 7)[0] + (u << 1)[0]
        return r


class NotANumberToInt(Probe):
    size = 8

    def values(self, action):
        x = float(action[0]) * (math.inf if action[1] > 0 else math.nan if action[1] > -1.5 else 1)
        r = [0.0] * 8
        i = np.zeros(3, np.int64)
        try:
            r[0] = int(x)
        except OverflowError:
            r[0] = 5
        except ValueError:
            r[0] = 6
        try:
            r[1] = round(x)
        except OverflowError:
            r[1] = 5
        except ValueError:
            r[1] = 6
        try:
            r[2] = math.floor(x)
        except OverflowError:
            r[2] = 5
        except ValueError:
            r[2] = 6
        try:
            i[0] = x
            r[3] = i[0]
        except OverflowError:
            r[3] = 5
        except ValueError:
            r[3] = 6
        y = x * np.float64(1)
        try:
            i[0] = y
            r[4] = i[0]
        except OverflowError:
            r[4] = 5
        except ValueError:
            r[4] = 6
        try:
            r[5] = np.array([x], np.int32)[0]
        except OverflowError:
            r[5] = 5
        except ValueError:
            r[5] = 6
        try:
            r[6] = round(x, 1) if x == x else 3
        except OverflowError:
            r[6] = 5
        except ValueError:
            r[6] = 6
        return r


class ErrorsOfMath(Probe):
    size = 60

    def values(self, action):
        k = self.np_random.integers(0, 12)
        j = self.np_random.integers(0, 12)
        t = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1000.0, -1000.0, 0.5, -2.5, 1e15]
        x = t[k]
        y = t[j]
        r = [0.0] * 60
        try:
            r[0] = math.sqrt(x)
        except ValueError:
            r[0] = 5
        except OverflowError:
            r[0] = 6
        try:
            r[1] = math.exp(x)
        except ValueError:
            r[1] = 5
        except OverflowError:
            r[1] = 6
        try:
            r[2] = math.log(x)
        except ValueError:
            r[2] = 5
        except OverflowError:
            r[2] = 6
        try:
            r[3] = math.log2(x)
        except ValueError:
            r[3] = 5
        except OverflowError:
            r[3] = 6
        try:
            r[4] = math.log10(x)
        except ValueError:
            r[4] = 5
        except OverflowError:
            r[4] = 6
        try:
            r[5] = math.log1p(x)
        except ValueError:
            r[5] = 5
        except OverflowError:
            r[5] = 6
        try:
            r[6] = math.expm1(x)
        except ValueError:
            r[6] = 5
        except OverflowError:
            r[6] = 6
        try:
            r[7] = math.sin(x)
        except ValueError:
            r[7] = 5
        try:
            r[8] = math.cos(x)
        except ValueError:
            r[8] = 5
        try:
            r[9] = math.tan(x)
        except ValueError:
            r[9] = 5
        try:
            r[10] = math.asin(x)
        except ValueError:
            r[10] = 5
        try:
            r[11] = math.acos(x)
        except ValueError:
            r[11] = 5
        try:
            r[12] = math.sinh(x)
        except ValueError:
            r[12] = 5
        except OverflowError:
            r[12] = 6
        try:
            r[13] = math.cosh(x)
        except ValueError:
            r[13] = 5
        except OverflowError:
            r[13] = 6
        try:
            r[14] = math.fmod(x, y)
        except ValueError:
            r[14] = 5
        try:
            r[15] = math.pow(x, y)
        except ValueError:
            r[15] = 5
        except OverflowError:
            r[15] = 6
        try:
            r[16] = math.log(x, y)
        except ValueError:
            r[16] = 5
        except ZeroDivisionError:
            r[16] = 7
        r[17] = math.atan(x) + 0
        r[18] = math.tanh(x)
        r[19] = math.atan2(x, y)
        r[20] = math.copysign(x, y)
        r[21] = math.fabs(x)
        r[22] = math.hypot(x, y)
        r[23] = math.degrees(x)
        if not (x < 0 and y != int(y) if math.isfinite(y) else x < 0):
            try:
                r[24] = x**y
            except ZeroDivisionError:
                r[24] = 7
            except OverflowError:
                r[24] = 6
        try:
            r[25] = x // y
        except ZeroDivisionError:
            r[25] = 7
        try:
            r[26] = x % y
        except ZeroDivisionError:
            r[26] = 7
        try:
            r[27] = math.trunc(x)
        except OverflowError:
            r[27] = 6
        except ValueError:
            r[27] = 5
        try:
            r[28] = math.ceil(x)
        except OverflowError:
            r[28] = 6
        except ValueError:
            r[28] = 5
        try:
            r[29] = x / y
        except ZeroDivisionError:
            r[29] = 7
        return r


class IntsAndFloats(Probe):
    size = 4

    def values(self, action):
        n = int(action[0])
        m = max(n, -0.5)
        x = 0
        if action[0] > 0:
            x = 0.5
        items = [1, 2]
        items.append(0.5)
        return [m, x + 1, items[0] + x, (n or 0.5) + 2 * x]


class IntsInFloatAttributes(Probe):
    size = 4

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.v = 0.0
        self.r = 0.0
        return np.zeros(4), {}

    def values(self, action):
        self.v += float(action[0])
        if self.v > 1:
            self.v = 0
        reward = 0
        if action[1] > 0:
            reward = 1.5
        elif action[1] < -1:
            reward -= 1
        self.r += reward * 0.5 + abs(self.v) - self.v / 3
        y = np.clip(self.v, -0.5, 0.5)
        return [self.v, reward, self.r, y]


class FunctionsOfIntsOrFloats(Probe):
    size = 4

    def values(self, action):
        x = 0
        if action[0] > 0:
            x = 0.5
        return [
            np.maximum(x, 0) + (x < 3) + (x == 0) + round(x) + int(x) + math.floor(x),
            x % 2.0,
            x**2.0,
            x / 2,
        ]


class SumsAndRounding(Probe):
    size = 8

    def values(self, action):
        n = int(action[0] * 60)
        return [
            sum([1, 2, self.steps], 0.5),
            round(n, -1),
            round(n, 1),  # noqa: RUF057
            round(n, -2),
            sum([1, 2.5, n]),
            sum((n, n), 2),
            (2**53 + 1 + n) / 3,
            (2**60 + n) / (2**59 + 7),
        ]


class LargeIntsAndFloats(Probe):
    size = 8

    def values(self, action):
        n = 2**53 + self.steps % 3
        x = float(2**53)
        return [n == x, n < x, n <= x, n > x, n >= x, n != x, x < n, x == n]


class IntsAndInfinities(Probe):
    size = 8

    def values(self, action):
        n = int(action[0] * 2)
        t = [math.inf, math.nan, -math.inf, float(n), 0.5, -0.0]
        x = t[self.steps % 6]
        return [n == x, n < x, n <= x, n > x, n >= x, n != x, x < n, n in (x, 3.0)]


class PowersOfArrays(Probe):
    size = 16

    def values(self, action):
        a = np.concatenate([abs(action) + 0.1, action * 0.0, -action * 0, [np.inf, np.nan]])
        f = a.astype(np.float32)
        n = self.steps % 4 - 1
        e = [0.5, -1.0, 2.0, 1.5][self.steps % 4]
        return [
            (a**-1).sum(),
            (a**0).sum(),
            (a**0.5)[0],
            (a**n)[1],
            (a**e)[1],
            (f**e)[1],
            (f**n)[2],
            (f**-1)[1],
            (f**0.5)[2],
            (a**0.5)[3],
            (a**0.5)[4],
            np.power(a, 2)[1],
            np.power(f, e)[1],
            (a ** np.float64(e))[2],
            (a**e)[4],
            (2.0**a)[0],
        ]


class PowersOfFew(Probe):
    size = 12

    def values(self, action):
        a = abs(action) + 0.1
        e = [0.5, -1.0, 2.0, 1.5][self.steps % 4]
        i = np.arange(3) + self.steps
        x = a[0]
        q = np.array([e])
        return [
            x**-1,
            x**0.5,
            x**2,
            x**e,
            np.power(x, e),
            np.power(x, 2.0),
            (i**2)[1],
            (i**0.5)[1],
            (i**e)[2],
            (a**q)[1],
            (a[:1] ** q)[0],
            (i**-1.0)[0],
        ]


class PowersOfInts(Probe):
    size = 4

    def values(self, action):
        i = np.arange(3) + 1
        n = int(action[0])
        try:
            r = (i**n)[1]
        except ValueError:
            r = -1
        try:
            q = (i ** (i - 2))[1]
        except ValueError:
            q = -1
        return [r, q, 0, 0]


class Extremes32(Probe):
    size = 10

    def values(self, action):
        f = (
            action.astype(np.float32) * np.array([1, np.nan, 1], np.float32)
            if self.steps % 2
            else action.astype(np.float32)
        )
        g = np.stack([f, f * -1])
        return [
            np.maximum(f, 0)[1],
            np.minimum(f, f[::-1])[0],
            np.clip(f, -1, 1)[1],
            np.argmax(f),
            np.argmin(f),
            g.max(axis=0)[1],
            g.min(axis=1)[0],
            np.clip(f[1], -1, 1),
            f.max(),
            f[1:].min(),
        ]


class SignsOfZero(Probe):
    size = 14

    def values(self, action):
        z = np.array([-0.0, 0.0, -0.0]) * abs(action)
        w = np.array([-0.0, -0.0, -0.0]) * abs(action)
        return [
            np.maximum(z[0], z[1]),
            np.maximum(z[1], z[0]),
            np.minimum(z[0], z[1]),
            np.minimum(z[1], z[0]),
            z.max(),
            z.min(),
            w.sum(),
            np.sum(w),
            sum(w),
            w.mean(),
            np.sign(w[0]),
            np.clip(w[0], 0.0, 1.0),
            np.round(w[0]),
            np.abs(w[0]),
        ]


class LengthsOfOne(Probe):
    size = 4

    def values(self, action):
        a = action[action > 1.5]
        r = -1.0
        try:
            r = (a + action).sum()
        except ValueError:
            r = -7.0
        b = action[action < -1.5]
        q = -1.0
        try:
            q = (a * b).sum() + len(a * b)
        except ValueError:
            q = -7.0
        return [r, q, 0, 0]


class RecursionThatRaises(Probe):
    size = 4

    def check(self, n):
        if n > 3 and self.steps % 2:
            raise ValueError("deep")
        return n

    def deep(self, n):
        m = self.check(n)
        if n <= 0:
            return 0
        return 1 + self.deep(m - 1)

    def values(self, action):
        t = 0
        for i in range(300):
            try:
                t += self.deep(i % 8)
            except ValueError:
                t -= 1
        try:
            t += self.deep(2000)
        except RecursionError:
            t += 5
        except ValueError:
            t += 7
        return [t, self.deep(2), 0, 0]


class FunctionsOf32Bits(Probe):
    size = 10

    def values(self, action):
        f = action.astype(np.float32)
        x = np.float32(action[0])
        e = float(action[1])
        return [
            np.add(f, e)[0],
            np.add(x, e),
            np.multiply(x, 0.1),
            np.arctan2(x, e),
            np.degrees(f)[1],
            np.radians(x),
            np.deg2rad(f)[2],
            np.power(abs(f), e)[1],
            np.hypot(x, 0.1),
            np.sqrt(np.array([2, self.steps], np.int16))[0],
        ]


class OrdersOfMemory(Probe):
    size = 24

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.g = self.np_random.normal(size=(12, 12))
        self.h = self.np_random.normal(size=(40, 33))
        self.w = self.h.T * 1.5
        self.q = self.np_random.normal(size=(5, 6, 7))
        return np.zeros(24), {}

    def part(self, a):
        return a.T * 2.0

    def total(self, a):
        return a.sum()

    def values(self, action):
        g = self.g * action[0]
        h = self.h * action[1]
        x = h.T * 2
        y = np.abs(x)
        i = np.array([3, 1, 2])
        z = self.part(h)
        v = h.T + 1 if action[2] > 0 else h.T - 1
        return [
            h.T.sum(),
            g.T.sum(axis=1)[3],
            g.T.sum(axis=0)[3],
            np.mean(h.T),
            x.sum(),
            y.sum(),
            y.T.sum(),
            z.sum(),
            self.total(h.T),
            self.total(x),
            x[1:, 2:].sum(),
            x.mean(axis=0)[3],
            h.T.std(),
            h.T.var(),
            np.prod(g.T[:3, :3]),
            self.w.sum(),
            h[:, i].sum(),
            h.T[i].sum(),
            x.copy().sum(),
            np.rot90(h).sum(),
            np.flip(h).sum(),
            np.sum(self.q[:, 1]),
            h.T[3].sum(),
            v.sum(),
        ]


class OrdersOfConstants(Probe):
    size = 6

    def __init__(self):
        super().__init__()
        self.f = np.asfortranarray(np.random.default_rng(1).normal(size=(20, 30)))
        self.c = self.f * 1.0

    def values(self, action):
        self.c[0, 0] = action[0]
        return [
            self.f.sum(),
            self.c.sum(),
            (self.f * action[0]).sum(),
            self.f[1:].sum(),
            self.f.T.sum(),
            self.f[:, 2].sum(),
        ]


class ManyNumbers(Probe):
    size = 4

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.q = self.np_random.normal(size=(100, 200))
        return np.zeros(4), {}

    def values(self, action):
        x = self.q.astype(np.int64) * 2**50
        return [
            x.mean(),
            x.std(),
            self.q[:60].astype(np.float32).sum(dtype=np.float64),
            self.q.mean(),
        ]


class ManyConvertedNumbers(Probe):
    size = 4

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.q = self.np_random.integers(0, 2**60, size=20000)
        self.f = self.np_random.normal(size=20000).astype(np.float32)
        return np.zeros(4), {}

    def values(self, action):
        return [self.q.mean(), np.std(self.q), self.f.sum(dtype=np.float64), self.f.mean()]


class PartsOfLocalArrays(Probe):
    size = 4

    def f(self, n):
        b = np.arange(9.0) + n
        if n > 0:
            return b[:n]
        x = b
        x = x[x > 3]
        return x

    def g(self, n):
        items = [np.arange(4.0)[:n]]
        b = np.arange(4.0) + n
        items.append(b[1:n])
        return items

    def values(self, action):
        n = int(action[0] * 3)
        x = self.f(n)
        items = self.g(abs(n))
        y = self.f(3)
        return [x.sum(), y.sum(), items[0].sum(), items[1].sum()]


class ProductsOfParts(Probe):
    size = 12

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.w = self.np_random.normal(size=(40, 33))
        self.v = self.np_random.normal(size=40)
        self.u = self.np_random.normal(size=33)
        self.f = self.w.astype(np.float32)
        return np.zeros(12), {}

    def values(self, action):
        w, v, u = self.w, self.v * action[0], self.u * action[1]
        a = w.T @ v
        b = v @ w
        c = w @ u
        d = u @ w.T
        e = w.T @ w
        g = w @ w.T
        h = (w.T * 2) @ v
        k = w[:, ::2] @ u[::2]
        items = w[1:, 2:] @ u[2:]
        m = self.f.T @ v.astype(np.float32)
        return [
            a[3],
            b[3],
            c[3],
            d[3],
            e[3, 4],
            g[3, 4],
            h[5],
            k[3],
            items[2],
            m[1],
            v @ v[::-1],
            np.linalg.norm(w[:, 2]),
        ]


class SmallProductsOfParts(Probe):
    size = 6

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.w = self.np_random.normal(size=(3, 4))
        return np.zeros(6), {}

    def values(self, action):
        w = self.w
        return [
            (w.T @ action)[1],
            (action @ w)[2],
            (w @ w.T)[1, 2],
            (w.T @ w)[1, 2],
            np.dot(w[:, 1], action),
            (w[:, 1:3].T @ action)[0],
        ]


class Sums32(Probe):
    size = 16

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.h = self.np_random.normal(size=(9, 17)).astype(np.float32)
        self.v = self.np_random.normal(size=1000).astype(np.float32)
        return np.zeros(16), {}

    def values(self, action):
        h = self.h * np.float32(action[0])
        v = self.v * float(action[1])
        return [
            h.sum(),
            h.mean(),
            h.std(),
            h.var(),
            h.sum(axis=0)[3],
            h.sum(axis=1)[3],
            v[:7].sum(),
            v[:9].mean(),
            v[:129].std(),
            v[:128].sum(),
            h.mean(axis=1)[0],
            np.prod(h[0]),
            np.cumsum(v)[300],
            h.T.sum(),
            h.max(axis=0)[2],
            np.round(v[:3], 2)[1],
        ]


class DrawsOfAllForms(Probe):
    size = 30

    def values(self, action):
        r = self.np_random
        n = int(abs(action[0]) * 3) + 1
        return [
            r.random(),
            r.random(None),
            r.random(3)[1],
            r.random((2, n))[1, 0],
            r.random(size=n)[0],
            r.uniform(),
            r.uniform(-2),
            r.uniform(high=3.0),
            r.uniform(-1, 1, n)[0],
            r.uniform(-1, 1, (2, 2))[1, 1],
            r.integers(n),
            r.integers(0, n),
            r.integers(n, endpoint=True),
            r.integers(low=1, high=5, size=(2, 2))[1, 1],
            r.integers(0, 5, n)[0],
            r.normal(),
            r.normal(1),
            r.normal(scale=2.0),
            r.normal(0, 1, n)[0],
            r.normal(size=(2, n))[1, 0],
            r.standard_normal(),
            r.standard_normal(n)[0],
            r.exponential(),
            r.choice(5),
            r.choice(5, 2)[1],
            r.choice([1, 2, n]),
            r.choice(5, size=2, replace=False)[1],
            r.permutation(n)[0],
            r.permutation([3, 1, 2])[1],
            r.integers(2**31 - 1),
        ]


class DrawsThatFail(Probe):
    size = 14

    def values(self, action):
        r = self.np_random
        n = int(abs(action[0]) * 3)
        res = [0.0] * 14
        try:
            res[0] = r.integers(n)
        except ValueError:
            res[0] = -1
        try:
            res[1] = r.choice(n)
        except ValueError:
            res[1] = -1
        res[2] = len(r.permutation(n))
        res[3] = len(r.random(n))
        res[4] = r.permutation(-3).size
        try:
            res[5] = r.choice(n, size=3, replace=False)[0]
        except ValueError:
            res[5] = -1
        try:
            res[6] = r.choice(3, p=[0.5, 0.5, 0.1])
        except ValueError:
            res[6] = -1
        try:
            res[7] = r.normal(0, -float(n))
        except ValueError:
            res[7] = -1
        try:
            res[8] = r.random(n - 4).size
        except ValueError:
            res[8] = -1
        try:
            res[9] = r.uniform(n, 1)
        except ValueError:
            res[9] = -1
        a = np.arange(12.0).reshape(4, 3)
        r.shuffle(a)
        res[10] = a[0, 0] + a[1, 1] * 100

        res[12] = r.choice(a)[1] if False else 0
        res[13] = r.binomial(n, 0.3) + r.poisson(n)
        return res


class ParametersOfDraws(Probe):
    size = 8

    def values(self, action):
        r = self.np_random
        x, y, z = (float(each) for each in action)
        res = [0.0] * 8
        try:
            res[0] = r.triangular(x, y, z)
        except ValueError:
            res[0] = -9
        try:
            res[1] = r.uniform(action, 1.0)[2]
        except ValueError:
            res[1] = -9
        try:
            res[2] = r.normal(0.0, action + 2)[1]
        except ValueError:
            res[2] = -9
        try:
            res[3] = r.exponential(x)
        except ValueError:
            res[3] = -9
        try:
            res[4] = r.gamma(y, 1.0)
        except ValueError:
            res[4] = -9
        try:
            res[5] = r.poisson(x)
        except ValueError:
            res[5] = -9
        try:
            res[6] = r.lognormal(0.0, z)
        except ValueError:
            res[6] = -9
        try:
            res[7] = r.geometric(abs(x) / 2)
        except ValueError:
            res[7] = -9
        return res


class EmptyArrays(Probe):
    size = 6

    def values(self, action):
        a = action[action > 1]
        try:
            x = np.roll(a, 1).size
        except ValueError:
            x = -1
        try:
            y = np.argmax(a)
        except ValueError:
            y = -1
        try:
            z = np.max(a)
        except ValueError:
            z = -1
        m = np.zeros((0, 3))
        return [x, y, z, a.sum(), 0, m.sum() + m.sum(axis=0)[1]]


class Casts(Probe):
    size = 8

    def values(self, action):
        a = action * 1e10
        b = np.array([-1.5, 300.7, -129.0]) * (self.steps > 0)
        return [
            a.astype(np.int32)[0],
            b.astype(np.uint8)[0],
            b.astype(np.uint8)[1],
            b.astype(np.int8)[2],
            int(action[0] * 3),
            a.astype(np.float32).astype(np.int32)[1],
            (a * 1e10).astype(np.int64)[0],
            b.astype(np.int64)[0],
        ]


class Quotients32(Probe):
    size = 4

    def values(self, action):
        r = self.np_random
        a = (r.normal(size=200) * 1e6).astype(np.float32)
        b = r.normal(size=200).astype(np.float32)
        q = a // b
        m = a % b
        x, y = a[0], b[0]
        i = int(np.argmax(q))
        return [q.sum(), m.sum(), x // y, q[i]]


class Shifts(Probe):
    size = 6

    def values(self, action):
        a = np.array([1, -5, 3])
        n = self.steps * 5
        k = int(action[0] * 10)
        return [
            (a << n)[0],
            (a >> n)[1],
            k >> n,
            (1 << min(n, 60)) ^ k,
            ~k & 0xFF,
            (a << np.array([64, 70, 1]))[0],
        ]


class SumsOfParts(Probe):
    size = 12

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.g = self.np_random.normal(size=(12, 12))
        self.h = self.np_random.normal(size=(40, 33))
        self.v = self.np_random.normal(size=1000)
        return np.zeros(12), {}

    def values(self, action):
        g = self.g * action[0]
        h = self.h * action[1]
        v = self.v * action[2]
        return [
            g[1:4, 1:4].sum(),
            g[:, 2:9].sum(),
            h.T.sum(),
            h[:, ::2].sum(),
            g.T.sum(axis=1)[3],
            g.T.sum(axis=0)[3],
            v[::-1].sum(),
            v[::3].sum(),
            v[1:].sum(),
            h[:, 3].sum(),
            np.mean(h.T),
            h[1:, 1:].mean(),
        ]


class LargeRanges(Probe):
    size = 4

    def values(self, action):
        m = 9223372036854775807 - self.steps * 0
        c = 0
        for _ in range(m - 2, m):
            c += 1
        for _ in range(m - 1, m, 4):
            c += 1
        return [c, 0, 0, 0]


class WideRanges(Probe):
    size = 4

    def values(self, action):
        b = 4611686018427387904
        t = 0
        for _ in (k for k in range(-b - self.steps, b, b)):
            t += 1
        return [t, len(range(-b - self.steps * 0, b, b)), 0, 0]


class NegativeShapes(Probe):
    size = 4

    def values(self, action):
        n = int(action[0] * 3)
        try:
            k = len(np.zeros(n))
        except ValueError:
            k = -1
        return [k, 0, 0, 0]


class ShuffledRows(Probe):
    size = 4

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.g = np.arange(4 * 64.0).reshape(4, 64)
        return np.zeros(4), {}

    def values(self, action):
        self.np_random.shuffle(self.g)
        return [self.g[0, 0], self.g[1, 1], 0, 0]


class LargeArray(Probe):
    size = 4

    def values(self, action):
        a = np.zeros((1500, 1500))
        a[3, 4] = action[0]
        return [a.sum(), 0, 0, 0]


class LargeArrays(Probe):
    size = 4

    def values(self, action):
        a = np.zeros((500, 500))
        b = a + action[0]
        c = b * 2
        d = c + a + b
        e = d - b
        return [e.sum(), d[1, 1], 0, 0]


class LargeArraysInRecursion(Probe):
    size = 4

    def deep(self, n):
        a = np.zeros(5000)
        a[n] = n
        if n > 0:
            return a[n] + self.deep(n - 1)
        return a.sum()

    def values(self, action):
        return [self.deep(400 + self.steps), 0, 0, 0]


class LeastInt(Probe):
    size = 4

    def reset(self, *, seed=None, options=None):
        found = super().reset(seed=seed)
        self.m = -1
        return found

    def values(self, action):
        n = -(2**63) + int(action[0] > 0)
        k = n if action[0] > 0 else 5
        return [k // self.m, n % self.m, n // -2, (np.array([n]) // self.m)[0]]


class KeywordsThatAreRead(Probe):
    size = 10

    def values(self, action):
        return [
            np.linspace(0, 1, 5, endpoint=False)[1],
            np.arange(0, 10, step=3).sum(),
            np.std(action, ddof=1),
            action.var(ddof=1),
            np.eye(3, k=1)[0, 1],
            np.eye(2, 3).size,
            math.log(abs(action[0]) + 1, 3),
            np.where(action[0] > 0, 1, 0.5),
            np.array(action, copy=True, ndmin=0).sum(),
            np.full(fill_value=3, shape=2).sum(),
        ]


PROBES = (
    FitsIntoSmallTypes,
    NotANumberToInt,
    ErrorsOfMath,
    IntsAndFloats,
    IntsInFloatAttributes,
    FunctionsOfIntsOrFloats,
    SumsAndRounding,
    LargeIntsAndFloats,
    IntsAndInfinities,
    PowersOfArrays,
    PowersOfFew,
    PowersOfInts,
    Extremes32,
    SignsOfZero,
    LengthsOfOne,
    RecursionThatRaises,
    FunctionsOf32Bits,
    OrdersOfMemory,
    OrdersOfConstants,
    ManyNumbers,
    ManyConvertedNumbers,
    PartsOfLocalArrays,
    ProductsOfParts,
    SmallProductsOfParts,
    Sums32,
    DrawsOfAllForms,
    DrawsThatFail,
    ParametersOfDraws,
    EmptyArrays,
    Casts,
    Quotients32,
    Shifts,
    SumsOfParts,
    LargeRanges,
    WideRanges,
    NegativeShapes,
    ShuffledRows,
    LargeArray,
    LargeArrays,
    LargeArraysInRecursion,
    LeastInt,
    KeywordsThatAreRead,
)


@pytest.mark.quick(2)
@pytest.mark.parametrize("cls", PROBES, ids=lambda cls: cls.__name__)
def test_numbers_are_the_same_as_in_python(cls: Any) -> None:
    (task_id,) = parallel_pool.compile(cls)
    steps = 3 if cls.__name__.startswith("Large") else 100
    twins.compare(cls, task_id, steps=steps)


HEAD = """
import math

import gymnasium
import numpy as np
from gymnasium import spaces


class Refused(gymnasium.Env):
    def __init__(self):
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)
        self.action_space = spaces.Box(-3.0, 3.0, (3,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        self.grid = np.zeros((3, 4, 5))
        return np.zeros(1), {}

    def step(self, action):
        self.count += 1
        x = 0
        if action[0] > 0:
            x = 0.5
        y = SOURCE
        return np.array([y], dtype=np.float64), 0.0, False, False, {}
"""
REFUSED = {
    "-x": "the negative of what is an int or a float",
    "x * self.count": "is an int or a float, which are computed differently",
    "x // 2": "is an int or a float",
    "x + np.int64(self.count) * x": "is an int or a float",
    "isinstance(x, int)": "isinstance() of an int or a float",
    "(-np.array([x, 1]))[0]": "the negative of what is",
    "np.sum(action, initial=10.0)": "this call with initial=10.0 is not translated",
    "np.max(action, initial=10.0)": "initial=10.0",
    "np.array(action, ndmin=2).ndim": "ndmin=2",
    "np.diff(action, n=2)[0]": "n=2",
    "[1, 2, self.count].index(1, 1)": "this call with 2 arguments",
    "int('11', 2) + self.count": "this call with 2 arguments",
    "np.arange(6).reshape((2, 3), order='F')[0, 1]": "order='F'",
    "self.grid[0].flatten('F')[1]": "this call with 1 arguments",
    "self.np_random.standard_normal(3, dtype=np.float32)[1]": "another dtype than float64",
    "self.np_random.choice(np.ones((3, 4)), axis=1)[0]": "axis=1",
    "self.np_random.choice(50, size=3, replace=False, shuffle=False)[2]": "shuffle=False",
    "self.np_random.permutation(np.ones((3, 4)), axis=1)[0, 0]": "axis=1",
    "np.indices((2, 3))[1][0, 2]": "numpy.indices() is not translated",
    "np.repeat(action, [1, 2, 3])[4]": "a number of repeats for each element",
    "np.tile(action, (2, 1))[1, 0]": "a number of repeats for each element",
    "np.add(action, 1, dtype=np.float32)[0]": "np.add is translated for 2 arguments",
    "len(5)": "`y = len(5)` is not translated (TypeError",
    "max()": "is not translated",
    "abs()": "this call needs the argument x",
    "np.sum()": "this call needs the argument a",
    "'abc'.find('b' if action[0] > 0 else 'z')": "is not translated",
    "self.grid.T.sum(axis=0)[1, 2]": "as it was transposed: write .copy() before",
    "np.cumsum(self.grid[0], axis=0)[1, 2]": "cumsum() along an axis is not translated",
    "np.sqrt(np.array([2, self.count], np.int8))[0]": "makes float16",
    "(action ** np.ones((2, 1)))[0, 0]": "these powers are not translated",
}


@pytest.mark.quick(12)
@pytest.mark.parametrize("source", REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_translated_is_refused(source: str, tmp_path: Path) -> None:
    path = tmp_path / "refused.py"
    path.write_text(HEAD.replace("SOURCE", source))
    with pytest.raises(parallel_pool.SourceError) as found:
        parallel_pool.load_source(path)
    assert REFUSED[source] in str(found.value)
    assert "refused.py:25: " in str(found.value)


def stepped(path: Path, source: str, steps: int = 3) -> None:
    path.write_text(HEAD.replace("SOURCE", source).replace("Refused", path.stem.title()))
    (task_id,) = parallel_pool.load_source(path)
    envs = parallel_pool.make_vec(task_id, 2)
    envs.reset(seed=0)
    try:
        for _ in range(steps):
            envs.step(np.ones((2, 3)))
    finally:
        envs.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, source, words",
    [
        ("wide", "(x if self.count < 2 else 2**53 + self.count) + 0.0", "an int beyond 2**53"),
        ("part", "np.tile(self.grid[0, 0], 4000).reshape(100, 200)[:, ::2].sum()", "write .copy()"),
        ("nan", "(x * math.nan) in [x, 1.0]", "whether a NaN is in a list"),
        ("least", "(1 - 2**63 - self.count) // (2 - 3 * self.count)", "the int leaves 64 bits"),
        ("zeros", "np.sort(np.array([0.0, -0.0, 1.0]) * self.count)[0]", "0.0 and -0.0"),
    ],
)
def test_what_can_only_be_seen_at_run_time_is_an_error(
    name: str, source: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises((parallel_pool.EnvError, parallel_pool.SourceError)) as found:
        stepped(tmp_path / f"{name}.py", source)
    assert words in str(found.value)
    assert "report it" not in str(found.value)
