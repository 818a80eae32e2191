// SPDX-License-Identifier: Apache-2.0

import Glibc

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A temporary directory that goes away with its owner.
package final class PeerDirectory: Sendable {
  /// Its absolute path.
  package let path: String

  /// Makes it under `TMPDIR`, else `/tmp`: short, because the path of a Unix socket may have 107 bytes at most.
  package init() throws {
    let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    var template = Array("\(parent)/lastro-peer-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw PeerError("mkdtemp in \(parent): \(errorText())") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    chmod(path, 0o755)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Path of a file in it.
  package func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file and gives its path.
  @discardableResult
  package func write(_ text: String, to name: String) throws -> String {
    try write(Data(text.utf8), to: name)
  }

  /// Writes a file and gives its path.
  @discardableResult
  package func write(_ data: Data, to name: String) throws -> String {
    let target = file(name)
    let folder = String(target[..<(target.lastIndex(of: "/") ?? target.endIndex)])
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try data.write(to: URL(filePath: target))
    return target
  }

  /// The text of a file in it; empty when it is not there.
  package func text(of name: String) -> String {
    (try? Data(contentsOf: URL(filePath: file(name)))).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// Gives the directory and what is in it to another user.
  func give(to user: UInt32) {
    chown(path, user, user)
    for name in (try? FileManager.default.subpathsOfDirectory(atPath: path)) ?? [] { chown(file(name), user, user) }
  }
}
