// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The process's open descriptors.
enum Descriptors {
  private static let folder = "/proc/self/fd"

  /// The target of each open descriptor, such as `socket:[4711]`.
  static var open: [String: String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let targets = names.map { (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) ?? "" }
    return Dictionary(zip(names, targets)) { first, _ in first }
  }

  /// Returns the targets of the descriptors opened since `before`. Waits at most 10 seconds until there are no more
  /// descriptors than before, because threads that are ending may still close some.
  static func left(since before: [String: String]) async -> [String] {
    for _ in 0..<1000 where open.count > before.count { try? await Task.sleep(for: .milliseconds(10)) }
    let after = open
    guard after.count > before.count else { return [] }
    return after.filter { before[$0.key] != $0.value }.map(\.value).sorted()
  }
}
