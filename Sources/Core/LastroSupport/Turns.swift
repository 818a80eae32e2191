// SPDX-License-Identifier: Apache-2.0

/// The directions of a stream that are in use: one task may read and one may write at a time. A turn lasts until it is
/// removed.
package struct Turns: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let reading = Self(rawValue: 1)
  package static let writing = Self(rawValue: 2)
}
