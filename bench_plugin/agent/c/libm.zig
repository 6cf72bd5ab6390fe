//! Functions of <math.h> that zig's compiler runtime and musl's C sources in zig's package lack: zig's own libc has them,
//! but it is not there without an operating system. They are the same code, so all targets compute the same.

const std = @import("std");
const math = std.math;

/// The nearest whole number, of two equally near ones the even one: numbers from 1/epsilon on have no fraction, so adding
/// and taking away that number rounds. Zig does not simplify floating-point arithmetic.
fn rounded(comptime T: type, x: T) T {
    const whole: T = 1.0 / math.floatEps(T);
    if (!(@abs(x) < whole)) return x;
    return math.copysign(@abs(x) + whole - whole, x);
}

fn difference(comptime T: type, x: T, y: T) T {
    if (math.isNan(x)) return x;
    if (math.isNan(y)) return y;
    return if (x > y) x - y else 0;
}

fn parted(comptime T: type, x: T, exponent: *c_int) T {
    exponent.* = 0; // of what has no exponent
    if (math.isNan(x) or math.isInf(x)) return x;
    const parts = math.frexp(x);
    exponent.* = parts.exponent;
    return parts.significand;
}

fn fraction(comptime T: type, x: T, whole: *T) T {
    whole.* = @trunc(x);
    if (math.isNan(x)) return x;
    return math.copysign(if (math.isInf(x)) 0 else x - whole.*, x);
}

/// A whole number as C's long; one that does not fit is unspecified in C, and the nearest here.
fn long(x: anytype) c_long {
    if (math.isNan(x)) return 0;
    return math.lossyCast(c_long, x);
}

export fn acos(x: f64) f64 { return math.acos(x); }
export fn acosf(x: f32) f32 { return math.acos(x); }
export fn acoshf(x: f32) f32 { return math.acosh(x); }
export fn asin(x: f64) f64 { return math.asin(x); }
export fn atan(x: f64) f64 { return math.atan(x); }
export fn atanf(x: f32) f32 { return math.atan(x); }
export fn cbrt(x: f64) f64 { return math.cbrt(x); }
export fn cbrtf(x: f32) f32 { return math.cbrt(x); }
export fn copysign(x: f64, y: f64) f64 { return math.copysign(x, y); }
export fn copysignf(x: f32, y: f32) f32 { return math.copysign(x, y); }
export fn cosh(x: f64) f64 { return math.cosh(x); }
export fn coshf(x: f32) f32 { return math.cosh(x); }
export fn hypot(x: f64, y: f64) f64 { return math.hypot(x, y); }
export fn hypotf(x: f32, y: f32) f32 { return math.hypot(x, y); }
export fn log1p(x: f64) f64 { return math.log1p(x); }
export fn log1pf(x: f32) f32 { return math.log1p(x); }
export fn nearbyint(x: f64) f64 { return rounded(f64, x); }
export fn nearbyintf(x: f32) f32 { return rounded(f32, x); }
export fn rint(x: f64) f64 { return rounded(f64, x); }
export fn rintf(x: f32) f32 { return rounded(f32, x); }
export fn tanh(x: f64) f64 { return math.tanh(x); }
export fn tanhf(x: f32) f32 { return math.tanh(x); }
export fn fdim(x: f64, y: f64) f64 { return difference(f64, x, y); }
export fn fdimf(x: f32, y: f32) f32 { return difference(f32, x, y); }
export fn frexp(x: f64, exponent: *c_int) f64 { return parted(f64, x, exponent); }
export fn frexpf(x: f32, exponent: *c_int) f32 { return parted(f32, x, exponent); }
export fn lrint(x: f64) c_long { return long(rounded(f64, x)); }
export fn lrintf(x: f32) c_long { return long(rounded(f32, x)); }
export fn lround(x: f64) c_long { return long(@round(x)); }
export fn lroundf(x: f32) c_long { return long(@round(x)); }
export fn modf(x: f64, whole: *f64) f64 { return fraction(f64, x, whole); }
export fn modff(x: f32, whole: *f32) f32 { return fraction(f32, x, whole); }
