// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// The trusted roots of a partition as a store of our own, parsed once and shared by all its handshakes. libcurl would
/// parse roots from memory, or with a directory, at every handshake (15 ms), and does not notice a file that was
/// replaced.
final class TrustedRoots {
  private let source: TLSOptions.Roots
  /// Whether others may use the same store.
  private let isShared: Bool
  private var loaded: RootStore?
  /// Contents that turned out to be unusable; not read again until they change.
  private var unusable: RootFiles.Version?
  /// Monotonic nanoseconds; files are not looked at before.
  private var nextLook = Int64.min
  /// Whether newer ones were found: of all that ask, each has to hear of it.
  private var isOutdated = false

  init(_ source: TLSOptions.Roots, isShared: Bool) {
    self.source = source
    self.isShared = isShared
  }

  /// Roots that are read already, for one connection.
  init(_ source: TLSOptions.Roots, loaded: RootStore) {
    self.source = source
    isShared = true
    self.loaded = loaded
  }

  /// The store; loaded when it is first asked for.
  func store() throws(TransportError) -> RootStore {
    if let loaded { return loaded }
    let store = try isShared ? RootStoreCache.shared.store(for: source) : RootStore(source)
    loaded = store
    return store
  }

  /// Whether nothing newer is to be had. A file that has become unreadable is not newer: the roots in use stay.
  func isCurrent(now: Int64) -> Bool {
    guard let loaded, !isOutdated, now >= nextLook else { return !isOutdated }
    nextLook = now.adding(.seconds(1))
    guard let version = RootFiles.version(of: source), version != loaded.version, version != unusable else {
      return true
    }
    if (try? RootStoreCache.shared.store(for: source)) != nil {
      isOutdated = true
      return false
    }
    unusable = version
    return true
  }
}
