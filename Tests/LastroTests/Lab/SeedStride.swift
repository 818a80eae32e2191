// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Tests with thousands of random or equal cases run all of them. Under a sanitizer, where each costs ten times as much and
/// proves nothing new about what is computed, they run every so manieth: `SEED_STRIDE`, set by `.ci/test`.
enum SeedStride {
  static let value = max(1, ProcessInfo.processInfo.environment["SEED_STRIDE"].flatMap { Int($0) } ?? 1)

  /// Every so manieth of some cases, the first among them.
  static func some<Case>(of cases: [Case]) -> [Case] {
    cases.enumerated().filter { $0.offset % value == 0 }.map(\.element)
  }
}
