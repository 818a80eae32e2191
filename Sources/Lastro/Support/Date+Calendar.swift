// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

extension Date {
  /// As RFC 3339 has it, in UTC, to the second.
  package var inCalendar: String { timeIntervalSince1970.isFinite ? formatted(.iso8601) : "never" }
}
