// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// Numbers that change when files of TLS options do, for callers that keep connections over a dialer.
final class TLSFileRevisions: Sendable {
  private struct Entry {
    var number: UInt64 = 0
    var version: FileVersion?
    var nextLook = Int64.min
    var isLooking = false
  }

  /// Beyond this many sets of files, all are forgotten.
  private static let mostEntries = 1_024
  /// The longest that a caller waits for a look. A file that cannot be looked at is not newer.
  private static let patience = DispatchTimeInterval.seconds(1)

  private let entries = Lock([[String]: Entry]())

  /// Returns one number for the roots and one for the client certificates, or fewer where no files are named. Files
  /// are looked at once a second at most, and a file that is missing is not a newer one. A look that blocks holds up
  /// one caller, for a second; on the thread of an event loop none is waited for.
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

  /// Returns the number of a set of files.
  ///
  /// - Parameter look: returns their version, on a thread of its own: a file system may block it for ever, and callers
  ///   run on the few threads that serve all tasks.
  func number(_ paths: [String], _ now: Int64, _ look: @escaping @Sendable () -> FileVersion?) -> UInt64 {
    let (known, mustLook) = entries.withLock { entries in
      var entry = entries[paths] ?? Entry()
      guard !entry.isLooking, now >= entry.nextLook else { return (entry.number, false) }
      entry.isLooking = true
      entry.nextLook = now.adding(.seconds(1))
      if entries.count >= Self.mostEntries { entries = [:] }
      entries[paths] = entry
      return (entry.number, true)
    }
    guard mustLook else { return known }
    let finished = DispatchSemaphore(value: 0)
    let code = DetachedThread.start { [self] in
      nameThread("lastro-files")
      note(look(), of: paths)
      finished.signal()
    }
    // A loop's caller has had files looked at before (`TLSFileDialer`).
    if code == 0, isLoopThread { return known }
    if code == 0 { _ = finished.wait(timeout: .now() + Self.patience) } else { note(nil, of: paths) }
    return entries.withLock { $0[paths]?.number ?? known }
  }

  /// Ends a look.
  private func note(_ version: FileVersion?, of paths: [String]) {
    entries.withLock { entries in
      entries[paths]?.isLooking = false
      guard let version, entries[paths]?.version != version else { return }
      entries[paths]?.version = version
      // Never one that was used before: what was made under a forgotten number is outdated.
      entries[paths]?.number = StreamID.next()
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
