// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import LastroSupport
internal import Synchronization

/// A recorder that writes a trace of a call to a file, from which `lastro replay` runs the call again.
///
/// ```swift
/// var configuration = StackConfiguration(interceptors: [.retry])
/// configuration.recorder = try CallRecorder(directory: "/var/lib/service/traces")
/// ```
///
/// A trace has the options of the call, its requests, the times and random numbers that it used, the bytes that the
/// engine read and wrote after TLS, and the record of its attempts. Over HTTP/2, it has the call's own frames and those of
/// the connection, with decoded heads. Through a cache and over transports of others, it has the outcome of each transfer
/// instead.
///
/// Secrets are masked by the rules of ``Redaction/standard``, with the names and secrets in the options of the call.
/// Bodies are left out, apart from their lengths and SHA-256, unless ``init(directory:keeps:bodies:maximumBytes:maximumTraces:)``
/// asks for them. A file has the mode 0600.
///
/// The file is written on the task of the call, before its result is returned. A stack without a recorder does nothing
/// for it. Share a recorder among stacks; it may be used on any thread.
public final class CallRecorder: Sendable {
  /// The calls whose traces are kept.
  public enum Scope: String, Sendable, Hashable, CaseIterable {
    /// Calls that fail, except by cancellation. Successful calls are recorded in memory only.
    case failures
    /// Calls within ``CallRecorder/recording(_:)``, whether they fail or not.
    case marked
    /// All calls.
    case every
  }

  private struct Written {
    var files: [String] = []
    var error: ConfigurationError?
    /// The traces that are being written or were written.
    var count = 0
    /// The tapes of streams that are open.
    var open: [UInt64: CallTape] = [:]
  }

  /// Whether the current task is within ``recording(_:)`` of the recorder with this identity.
  @TaskLocal private static var marked: ObjectIdentifier?
  private static let latest = Atomic<UInt64>(0)

  let keepsBodies: Bool
  let maximumBytes: Int
  private let directory: String
  private let scope: Scope
  private let maximumTraces: Int
  private let written = Lock(Written())

  /// Creates a recorder.
  ///
  /// - Parameters:
  ///   - directory: the path of an existing directory for the files.
  ///   - scope: the calls whose traces are kept. Default: those that fail.
  ///   - bodies: whether text bodies are kept, with their secrets masked. Default false.
  ///   - maximumBytes: the maximum number of bytes of heads and bodies that are kept of a call. Of further bytes, only
  ///     the number is kept. Default 1 MiB, at least 1,024 and at most 8 MiB.
  ///   - maximumTraces: the maximum number of files that this recorder writes. Default 100, at least 1.
  /// - Throws: ``ConfigurationError`` for a path that is not a directory, or a limit out of range.
  public init(
    directory: String, keeps scope: Scope = .failures, bodies: Bool = false, maximumBytes: Int = 1 << 20,
    maximumTraces: Int = 100
  ) throws(ConfigurationError) {
    guard (1_024...8 << 20).contains(maximumBytes) else {
      throw ConfigurationError(
        "maximumBytes of a call recorder is \(maximumBytes)", hint: "give 1,024 to \(8 << 20) bytes")
    }
    guard maximumTraces >= 1 else {
      throw ConfigurationError("maximumTraces of a call recorder is \(maximumTraces)", hint: "give 1 or more")
    }
    var isDirectory = false
    guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory), isDirectory else {
      throw ConfigurationError(
        "\"\(directory.onOneLine)\" does not name a directory for traces", hint: "create it, with the mode 0700")
    }
    self.directory = directory
    self.scope = scope
    keepsBodies = bodies
    self.maximumBytes = maximumBytes
    self.maximumTraces = maximumTraces
  }

  /// The paths of the files that were written, oldest first.
  public var files: [String] { written.withLock { $0.files } }

  /// The reason why the latest trace could not be written; `nil` if it was written. A call does not fail for it.
  public var writeError: ConfigurationError? { written.withLock { $0.error } }

  /// Runs code whose calls are recorded, whatever their result and the recorder's scope are.
  ///
  /// - Returns: the result of the code.
  /// - Throws: the error of the code.
  public func recording<Value>(_ body: () async throws -> Value) async rethrows -> Value {
    try await Self.$marked.withValue(ObjectIdentifier(self)) { try await body() }
  }

  // MARK: Calls

  /// Returns the tape for a call that begins; `nil` if the call is not recorded.
  func tape(for call: FetchCall) -> CallTape? {
    // The call itself may already be running on its tape.
    if CallTape.current?.callID == call.callID { return nil }
    let isMarked = Self.marked == ObjectIdentifier(self)
    guard isMarked || scope != .marked, written.withLock({ $0.count < maximumTraces }) else { return nil }
    // The start of this call was measured on the tape of the call that it belongs to.
    CallTape.current?.drop(time: call.start)
    return CallTape(call, by: self, isMarked: isMarked)
  }

  /// Records an event of a call.
  func observe(_ event: FetchEvent) {
    if case .bodyEnded(_, let error, _) = event.kind {
      guard let tape = written.withLock({ $0.open.removeValue(forKey: event.callID) }) else { return }
      tape.note(event)
      return conclude(tape, hasFailed: error.map { $0.stage != .cancelled } ?? false)
    }
    guard let tape = CallTape.current, tape.callID == event.callID else { return }
    tape.note(event)
    guard case .callEnded(let result) = event.kind else { return }
    switch result {
    case .success where event.isStream: written.withLock { $0.open[event.callID] = tape }
    case .success: conclude(tape, hasFailed: false)
    case .failure(let error): conclude(tape, hasFailed: !error.isCancelled)
    }
  }

  private func conclude(_ tape: CallTape, hasFailed: Bool) {
    tape.seal()
    guard hasFailed || tape.isMarked || scope == .every else { return }
    let isWanted = written.withLock { written in
      guard written.count < maximumTraces else { return false }
      written.count += 1
      return true
    }
    guard isWanted else { return }
    let number = Self.latest.wrappingAdd(1, ordering: .relaxed).newValue
    let seconds = Int(Date().timeIntervalSince1970)
    let path = "\(directory)/call-\(seconds)-\(ProcessInfo.processInfo.processIdentifier)-\(number).lastro"
    do throws(PrivateFile.Failure) {
      try PrivateFile(path).replace(with: CallTrace(tape).text)
      written.withLock { written in
        written.files.append(path)
        written.error = nil
      }
    } catch {
      written.withLock { $0.error = ConfigurationError(unwritten: path, error) }
    }
  }
}

extension ConfigurationError {
  fileprivate init(unwritten path: String, _ failure: PrivateFile.Failure) {
    let name = path.onOneLine
    switch failure {
    case .system(let words, let reason, let hint):
      self.init("\(words) the trace \(name): \(reason)", hint: hint)
    case .tooLarge(let count):
      self.init("the trace \(name) has \(count) bytes", hint: "lower the number of bytes that the recorder keeps")
    case .unfit, .notText: self.init("the trace \(name) cannot replace what is there", hint: "empty the directory")
    }
  }
}

/// The observer by which a recorder receives the events of calls.
struct RecordingObserver: FetchObserver {
  let recorder: CallRecorder

  func observe(_ event: FetchEvent) { recorder.observe(event) }
}
