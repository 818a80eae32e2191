// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

/// The contents of the files that TLS connections with equal options use: trusted roots, client certificates, and the
/// key log. This type reads no files; ``TLSFileReader`` does. Thread: its owner's.
///
/// Contents do not change once they have been read. If a file has new, usable contents, the whole object is outdated:
/// its owner creates another, and connections and TLS sessions made under this one serve no further request.
final class TLSFiles {
  private let options: TLSOptions
  /// The roots as a store of our own, which is parsed once and shared by all handshakes. libcurl would parse roots from
  /// memory, or with a directory, at every handshake (15 ms), and does not notice a file that was replaced.
  private(set) var roots: RootStore?
  private(set) var keyLog: KeyLogFile?
  private var identities: [TLSOptions.Identity: ClientIdentity] = [:]
  /// The latest versions that made no difference: they are unusable, or their contents are the same.
  private var seenRoots: FileVersion?
  private var seenIdentities: [TLSOptions.Identity: FileVersion] = [:]
  /// The identities of the predecessors. They are used while the files are unusable, and contents of pipes cannot be
  /// read again.
  private let inherited: [TLSOptions.Identity: ClientIdentity]
  private(set) var isOutdated = false
  /// The rotating identities in use, and the sum of their revisions at the latest check.
  private var rotations: [RotatingIdentity] = []
  private var seenRevision: UInt64 = 0
  /// The time at which files are to be checked again, in monotonic nanoseconds; `.max` for never.
  private var nextFileLook = Int64.max
  /// The time from which on ``mustLook(now:)`` may return true: with a rotating identity, always.
  private var nextLook = Int64.max

  init(_ options: TLSOptions, after predecessor: TLSFiles? = nil) {
    self.options = options
    inherited = predecessor.map { $0.inherited.merging($0.identities) { $1 } } ?? [:]
  }

  func identity(_ source: TLSOptions.Identity) -> ClientIdentity? { identities[source] }

  // MARK: Reading

  /// Returns the files that a connection needs and that have not been read; `nil` if there are none.
  ///
  /// - Parameter identity: the identity that the connection presents.
  func missing(for identity: TLSOptions.Identity?) -> TLSFileRequest? {
    if roots != nil, identity == nil, keyLog != nil || options.keyLogFile == nil { return nil }
    var request = TLSFileRequest()
    if roots == nil { request.roots = .init(source: options.roots, isShared: !options.requiresStapledStatus) }
    if let identity, identities[identity] == nil { request.identities = [.init(source: identity)] }
    if keyLog == nil { request.keyLog = options.keyLogFile }
    return request.isEmpty ? nil : request
  }

  /// Stores the contents that were read for ``missing(for:)``.
  ///
  /// - Throws: the reason why a file cannot be used.
  func store(_ answer: TLSFileAnswer, now: Int64) throws(TransportError) {
    var failure = answer.failure
    switch answer.roots {
    case .new(let store): roots = roots ?? store
    case .unusable(let error, _): failure = failure ?? error
    case nil: break
    }
    switch answer.keyLog {
    case .success(let file): keyLog = keyLog ?? file
    case .failure(let error): failure = failure ?? error
    case nil: break
    }
    for (source, finding) in answer.identities {
      switch finding {
      case .new(let identity): add(identity, of: source)
      case .unusable(let error, let version):
        if let earlier = inherited[source] {
          seenIdentities[source] = version
          add(earlier, of: source)
        } else {
          failure = failure ?? error
        }
      }
    }
    scheduleLook(now: now)
    if let failure { throw failure }
  }

  private func add(_ identity: ClientIdentity, of source: TLSOptions.Identity) {
    guard identities[source] == nil else { return }
    identities[source] = identity
    if let rotation = source.rotation { rotations.append(rotation) }
  }

  // MARK: Looking again

  /// Returns whether the files must be checked before a connection is used.
  func mustLook(now: Int64) -> Bool {
    now >= nextLook && (rotations.isEmpty || now >= nextFileLook || seenRevision != revision)
  }

  /// The sum of the revisions of the rotating identities. Each of them only grows.
  private var revision: UInt64 { rotations.reduce(0) { $0 &+ $1.revision } }

  /// Returns the request that checks whether any file has changed, or a rotating identity was replaced.
  func look() -> TLSFileRequest {
    var request = TLSFileRequest()
    seenRevision = revision
    if let version = roots?.version {
      // Shared in any case: newer roots are only tried.
      request.roots = .init(source: options.roots, isShared: true, known: [version, seenRoots].compactMap(\.self))
    }
    for (source, identity) in identities {
      guard let version = identity.version else { continue }
      request.identities.append(
        .init(source: source, known: [version, seenIdentities[source]].compactMap(\.self)))
    }
    return request
  }

  /// Processes the answer to ``look()``. Unusable files count as unchanged: the current contents stay in use.
  func compare(with answer: TLSFileAnswer, now: Int64) {
    switch answer.roots {
    case .new: isOutdated = true
    case .unusable(_, let version): seenRoots = version
    case nil: break
    }
    for (source, finding) in answer.identities {
      switch finding {
      case .new(let identity):
        if identities[source]?.hasSameContent(as: identity) == true {
          seenIdentities[source] = identity.version
        } else {
          isOutdated = true
        }
      case .unusable(_, let version): seenIdentities[source] = version
      }
    }
    for identity in identities.values { ExpiryLog.shared.note(identity) }
    scheduleLook(now: now)
  }

  /// Postpones the next check until the current one ends, because that one takes too long for requests to wait for it.
  func postponeLook() { nextLook = .max }

  private func scheduleLook(now: Int64) {
    let mayChange = roots?.version != nil || identities.keys.contains { !$0.paths.isEmpty }
    nextFileLook = mayChange && !isOutdated ? now.adding(.seconds(1)) : .max
    nextLook = rotations.isEmpty || isOutdated ? nextFileLook : now
  }
}
