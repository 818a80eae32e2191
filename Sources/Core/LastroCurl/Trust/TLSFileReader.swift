// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The files to read for TLS connections with equal options.
struct TLSFileRequest: Hashable, Sendable {
  struct Roots: Hashable, Sendable {
    var source: TLSOptions.Roots
    /// Whether other connections may use the same store.
    var isShared: Bool
    /// The known versions, which are not read again.
    var known: [FileVersion] = []
  }

  struct Identity: Hashable, Sendable {
    var source: TLSOptions.Identity
    /// The known versions, which are not read again.
    var known: [FileVersion] = []
  }

  var roots: Roots?
  var identities: [Identity] = []
  /// The path of the key log.
  var keyLog: String?

  var isEmpty: Bool { roots == nil && identities.isEmpty && keyLog == nil }
}

/// The contents of the files of a ``TLSFileRequest``.
struct TLSFileAnswer: Sendable {
  enum Finding<Value: Sendable>: Sendable {
    case new(Value)
    /// The files cannot be used in this version.
    case unusable(TransportError, FileVersion?)
  }

  /// The finding; `nil` if the roots were not asked for, or have a known version.
  var roots: Finding<RootStore>?
  /// The findings for the identities of the request that have no known version.
  var identities: [(source: TLSOptions.Identity, finding: Finding<ClientIdentity>)] = []
  var keyLog: Result<KeyLogFile, TransportError>?
  /// The reason why nothing was read.
  var failure: TransportError?
}

/// Reads files on separate threads: a pipe or a network file system may block a read for any length of time, and the
/// loop's thread serves all connections. A read that blocks forever keeps its thread. At most 16 reads of roots run at
/// a time in a process, and at most 16 of client certificates and key logs. The latter may be pipes that no process
/// writes to, which must not prevent other connections from reading their roots.
enum TLSFileReader {
  private typealias Reads = NameLookups<TLSFileRequest, TLSFileAnswer>

  private static let rootReads = reads(), identityReads = reads()

  private static func reads() -> Reads {
    Reads(
      mostRequests: .max, full: TLSFileAnswer(failure: .noReadingThread),
      noThread: TLSFileAnswer(failure: .noReadingThread)
    ) { request in
      nameThread("lastro-files")
      return read(request)
    }
  }

  /// Reads files on another thread, and calls `answer` on any thread.
  static func submit(_ request: TLSFileRequest, _ answer: @escaping @Sendable (TLSFileAnswer) -> Void) {
    let reads = request.identities.isEmpty && request.keyLog == nil ? rootReads : identityReads
    reads.submit(.init(name: request, isGivenUp: { false }, answer: answer))
  }

  /// Reads files on another thread.
  ///
  /// - Parameters:
  ///   - limit: the time limit; `nil` for none.
  ///   - target: host and port, for the error.
  /// - Throws: stage `cancelled`; stage `timeout`, code `connect_timeout`.
  static func answer(
    to request: TLSFileRequest, within limit: Duration?, for target: String
  ) async throws(TransportError) -> TLSFileAnswer {
    if request.isEmpty { return TLSFileAnswer() }
    let outcome = await interruptible(within: limit, time: .continuous) {
      await withCheckedContinuation { continuation in submit(request) { continuation.resume(returning: $0) } }
    }
    switch outcome {
    case .success(let answer): return answer
    case .failure(.cancelled): throw .cancelled()
    case .failure(.limit): throw .lateFiles(of: target, within: limit)
    }
  }

  /// Reads files. The call may block.
  static func read(_ request: TLSFileRequest) -> TLSFileAnswer {
    TLSFileAnswer(
      roots: request.roots.flatMap(roots),
      identities: request.identities.compactMap { file in identity(file).map { (source: file.source, finding: $0) } },
      keyLog: request.keyLog.map { path in
        Result { () throws(TransportError) in try KeyLogFile(path: path) }
      })
  }

  private static func roots(_ roots: TLSFileRequest.Roots) -> TLSFileAnswer.Finding<RootStore>? {
    let version = roots.known.isEmpty ? nil : roots.source.version
    if let version, roots.known.contains(version) { return nil }
    do throws(TransportError) {
      return .new(try roots.isShared ? RootStore.shared(roots.source) : RootStore(roots.source))
    } catch {
      return .unusable(error, version)
    }
  }

  private static func identity(_ identity: TLSFileRequest.Identity) -> TLSFileAnswer.Finding<ClientIdentity>? {
    let version = identity.known.isEmpty ? nil : identity.source.version
    if let version, identity.known.contains(version) { return nil }
    do throws(TransportError) {
      return .new(try ClientIdentity.shared(identity.source))
    } catch {
      // A replacement that cannot be used is ignored, also by connections that had not read the one before.
      if let last = ClientIdentity.lastUsable(of: identity.source),
        !identity.known.contains(where: { $0 == last.version })
      {
        return .new(last)
      }
      return .unusable(error, version)
    }
  }
}

extension TransportError {
  static let noReadingThread = TransportError(
    stage: .tls, code: .engineFailure, message: "the system cannot start a thread to read the files of TLS options",
    hint: "raise `ulimit -u`, or the memory of the process")

  /// Returns the error for files that were not read in time.
  ///
  /// - Parameters:
  ///   - target: the host and port.
  ///   - limit: the connect timeout.
  static func lateFiles(of target: String, within limit: Duration?) -> TransportError {
    var error = dialTimedOut(to: target, within: limit)
    error.message += ", while the files of its TLS options were read"
    error.hint = "check that the client certificate and the trusted roots are files that can be read without delay"
    return error
  }
}
