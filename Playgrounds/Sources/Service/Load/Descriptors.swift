// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The process's open descriptors.
enum Descriptors {
  private static let folder = "/proc/self/fd"

  /// What each is of, such as `socket:[4711]`.
  static var open: [String: String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let targets = names.map { (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) ?? "" }
    return Dictionary(zip(names, targets)) { first, _ in first }
  }

  /// What is open beyond the descriptors that were, once the threads that end have ended.
  static func left(since before: [String: String]) async -> [String] {
    for _ in 0..<1000 where open.count > before.count { try? await Task.sleep(for: .milliseconds(10)) }
    let after = open
    guard after.count > before.count else { return [] }
    return after.filter { before[$0.key] != $0.value }.map(\.value).sorted()
  }
}
