// SPDX-License-Identifier: Apache-2.0

/// Units of time in nanoseconds on a monotonic clock, stored in 64 bits. A `Duration` has 128 bits.
package enum HTTP2Time {
  package static let millisecond: UInt64 = 1_000_000
  package static let second: UInt64 = 1_000_000_000
}
