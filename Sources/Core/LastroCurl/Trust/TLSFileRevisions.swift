// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// Numbers that change when files of TLS options do, for callers that keep connections over a dialer.
final class TLSFileRevisions: Sendable {
  private struct Entry {
    /// Numbers are unique: objects made under a number that was dropped are outdated.
    var number = StreamID.next()
    var version: FileVersion?
    /// Whether a check has ended, so that a version that differs is a change.
    var isKnown = false
    var nextLook = Int64.min
    var isLooking = false
  }

  /// The maximum number of entries, each for a set of files. Beyond it, all entries are dropped.
  private static let mostEntries = 1_024
  /// The maximum time that a caller waits for a check. If a file cannot be checked by then, it counts as unchanged.
  private static let patience = DispatchTimeInterval.seconds(1)

  private let entries = Lock([[String]: Entry]())

  /// Returns one number for the roots, one for each rotating identity, and one for the files of client certificates, or
  /// fewer if no files are named. Files are checked at most once a second, and a missing file counts as unchanged. A
  /// check that blocks delays one caller by one second; on the thread of an event loop, the caller does not wait for it.
  func numbers(of options: TLSOptions) -> [UInt64] {
    guard let path = options.roots.path else { return identityNumbers(of: options) }
    return [number([path], monotonicNow()) { options.roots.version }] + identityNumbers(of: options)
  }

  /// Returns the numbers of the client certificates alone; none if they cannot change.
  func identityNumbers(of options: TLSOptions) -> [UInt64] {
    let hosts = options.hostIdentities
    let identities = hosts.isEmpty ? [] : hosts.sorted { $0.key < $1.key }.map(\.value)
    let all = (options.identity.map { [$0] } ?? []) + identities
    // Read before the paths that they name, so that a replacement between the two is noticed the next time.
    let revisions = all.compactMap { $0.rotation?.revision }
    let paths = all.flatMap(\.paths)
    return paths.isEmpty ? revisions : revisions + [number(paths, monotonicNow()) { FileVersion(paths) }]
  }

  /// Returns the number of a set of files.
  ///
  /// - Parameter look: returns the state of the files. It is called on a separate thread, because a file system may
  ///   block it forever, and callers run on the few threads that serve all tasks.
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
    // A caller on a loop has already had the files checked (`TLSFileDialer`).
    if code == 0, isLoopThread { return known }
    if code == 0 { _ = finished.wait(timeout: .now() + Self.patience) } else { note(nil, of: paths) }
    return entries.withLock { $0[paths]?.number ?? known }
  }

  /// Records the result of a check.
  private func note(_ version: FileVersion?, of paths: [String]) {
    entries.withLock { entries in
      guard var entry = entries[paths] else { return }
      if let version, entry.version != version {
        if entry.isKnown { entry.number = StreamID.next() }
        entry.version = version
      }
      entry.isLooking = false
      entry.isKnown = true
      entries[paths] = entry
    }
  }
}
