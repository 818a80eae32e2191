// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

/// The contents of the files that TLS connections with equal options rest on: trusted roots, client certificates, the
/// key log. Nothing here reads a file; ``TLSFileReader`` does. Thread: its owner's.
///
/// Contents are fixed once they were read. When a file turns out to hold something newer that can be used, the whole is
/// outdated: its owner makes another, and connections and TLS sessions made under this one serve no further request.
final class TLSFiles {
  private let options: TLSOptions
  /// The roots as a store of our own, parsed once and shared by all handshakes. libcurl would parse roots from memory,
  /// or with a directory, at every handshake (15 ms), and does not notice a file that was replaced.
  private(set) var roots: RootStore?
  private(set) var keyLog: KeyLogFile?
  private var identities: [TLSOptions.Identity: ClientIdentity] = [:]
  /// The latest versions that made no difference: they cannot be used, or hold the same.
  private var seenRoots: FileVersion?
  private var seenIdentities: [TLSOptions.Identity: FileVersion] = [:]
  /// Keeps what was read from pipes for the successor, which could not read it again.
  private let inherited: [ClientIdentity]
  private(set) var isOutdated = false
  /// Monotonic nanoseconds at which files are to be compared again; `.max` for never.
  private(set) var nextLook = Int64.max

  init(_ options: TLSOptions, after predecessor: TLSFiles? = nil) {
    self.options = options
    inherited = predecessor.map { Array($0.identities.values) } ?? []
  }

  /// Roots that were read already.
  init(roots: RootStore) {
    options = TLSOptions()
    self.roots = roots
    inherited = []
  }

  func identity(_ source: TLSOptions.Identity) -> ClientIdentity? { identities[source] }

  // MARK: Reading

  /// The files that a connection needs and that were not read yet; `nil` for none.
  ///
  /// - Parameter identity: the one that the connection presents.
  func missing(for identity: TLSOptions.Identity?) -> TLSFileRequest? {
    if roots != nil, identity == nil, keyLog != nil || options.keyLogFile == nil { return nil }
    var request = TLSFileRequest()
    if roots == nil { request.roots = .init(source: options.roots, isShared: !options.requiresStapledStatus) }
    if let identity, identities[identity] == nil { request.identities = [.init(source: identity)] }
    if keyLog == nil { request.keyLog = options.keyLogFile }
    return request.isEmpty ? nil : request
  }

  /// Keeps what was read for ``missing(for:)``.
  ///
  /// - Throws: why some of it cannot be used.
  func take(_ answer: TLSFileAnswer, now: Int64) throws(TransportError) {
    var failure = answer.failure
    switch answer.roots {
    case .new(let store): roots = roots ?? store
    case .unusable(let error, _): failure = failure ?? error
    case .known, nil: break
    }
    switch answer.keyLog {
    case .success(let file): keyLog = keyLog ?? file
    case .failure(let error): failure = failure ?? error
    case nil: break
    }
    for (source, finding) in answer.identities {
      switch finding {
      case .new(let identity): identities[source] = identities[source] ?? identity
      case .unusable(let error, _): failure = failure ?? error
      case .known: break
      }
    }
    scheduleLook(now: now)
    if let failure { throw failure }
  }

  // MARK: Looking again

  /// Asks whether any file has changed.
  var look: TLSFileRequest {
    var request = TLSFileRequest()
    if let version = roots?.version {
      // Shared, whether or not these are: newer ones are only tried.
      request.roots = .init(source: options.roots, isShared: true, known: [version, seenRoots].compactMap(\.self))
    }
    for (source, identity) in identities {
      guard let version = identity.version else { continue }
      request.identities.append(
        .init(source: source, known: [version, seenIdentities[source]].compactMap(\.self)))
    }
    return request
  }

  /// Takes the answer to ``look``. Files that cannot be used are not newer: what is in use stays.
  func compare(with answer: TLSFileAnswer, now: Int64) {
    switch answer.roots {
    case .new: isOutdated = true
    case .unusable(_, let version): seenRoots = version
    case .known, nil: break
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
      case .known: break
      }
    }
    scheduleLook(now: now)
  }

  /// A look takes too long: requests do not wait for it any more.
  func noteSlowLook() { nextLook = .max }

  private func scheduleLook(now: Int64) {
    let mayChange = roots?.version != nil || identities.values.contains { $0.version != nil }
    nextLook = mayChange && !isOutdated ? now.adding(.seconds(1)) : .max
  }
}
