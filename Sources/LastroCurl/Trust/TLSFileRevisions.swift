// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// Numbers that change when files of TLS options do, for callers that keep connections over a dialer.
final class TLSFileRevisions: Sendable {
  private struct Entry {
    var number: UInt64 = 0
    var version: FileVersion?
    var nextLook = Int64.min
  }

  /// Beyond this many sets of files, all are forgotten.
  private static let mostEntries = 1_024

  private let entries = Lock([[String]: Entry]())

  /// Returns one number for the roots and one for the client certificates, or fewer where no files are named. Files
  /// are looked at once a second at most, and a file that is missing is not a newer one.
  func numbers(of options: TLSOptions) -> [UInt64] {
    let now = monotonicNow()
    var numbers: [UInt64] = []
    if let path = options.roots.path {
      numbers.append(number([path], now) { RootFiles.version(of: options.roots) })
    }
    let identities = options.hostIdentities.isEmpty ? [] : options.hostIdentities.values.flatMap(\.paths).sorted()
    let paths = (options.identity?.paths ?? []) + identities
    if !paths.isEmpty { numbers.append(number(paths, now) { FileVersion(paths) }) }
    return numbers
  }

  private func number(_ paths: [String], _ now: Int64, _ look: () -> FileVersion?) -> UInt64 {
    entries.withLock { entries in
      var entry = entries[paths] ?? Entry()
      guard now >= entry.nextLook else { return entry.number }
      if let version = look(), version != entry.version {
        entry.number += 1
        entry.version = version
      }
      entry.nextLook = now.adding(.seconds(1))
      if entries.count >= Self.mostEntries { entries = [:] }
      entries[paths] = entry
      return entry.number
    }
  }
}

extension TLSOptions.Roots {
  /// The file or directory; `nil` for roots from memory.
  fileprivate var path: String? {
    switch self {
    case .pem: nil
    case .system: RootFiles.systemFile
    case .file(let path): path
    case .directory(let path): path
    }
  }
}
