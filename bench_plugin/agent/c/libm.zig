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
