// SPDX-License-Identifier: Apache-2.0

/// Times are nanoseconds of a clock that does not go back, in 64 bits: a `Duration` has 128.
package enum HTTP2Time {
  package static let millisecond: UInt64 = 1_000_000
  package static let second: UInt64 = 1_000_000_000
}
