// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport

/// A link over any `ByteStream`, which reads and writes on demand.
///
/// Bytes count as sent when the link accepts them. The link accepts the next bytes only after the stream has completed
/// the previous write. At most one read, of up to 64 KiB, is in progress. No read begins while received bytes are
/// unread, or while the connection does not want to read.
final class StreamLink: Link {
  private static let readBytes = 64 * 1024
  private static let writeBytes = 64 * 1024
  /// The size of a write while writes are slow. Each completed write shows that the peer is alive.
  private static let slowWriteBytes = 16 * 1024
  private static let slowTime: Int64 = 1_000_000_000

  let facts: LinkFacts
  private let stream: any ByteStream
  private let origin: LinkOrigin
  private let context: LoopContext
  private let reference = StreamLinkReference()
  /// The stream, if it is one of Lastro's own.
  private let ownStream: (any LoopStream)?
  /// Whether reads and writes may begin on the loop's thread.
  private let runsOnLoops: Bool
  // Unowned, because a weak reference makes reference counting of the user slower. The user closes its link before it
  // is released.
  private unowned var user: (any LinkUser)?

  private var wants = (read: false, write: false)
  /// Whether readiness is being reported, in which case the next read begins afterwards.
  private var isReporting = false
  private var isReading = false
  /// Whether bytes have arrived at any time.
  private var hasRead = false
  private var isWriting = false
  private var isClosed = false
  /// The bytes that have arrived and were not read.
  private var incoming = Data()
  private var end: LinkStep?
  private var writeFailure: TransportError?
  private(set) var failure: TransportError?
  private var reading: Task<Void, Never>?
  private var writing: Task<Void, Never>?
  private var acknowledged: UInt64 = 0
  private var queued: UInt64 = 0
  private var acknowledgedAt: Int64?
  private var writeBeganAt: Int64 = 0
  private var isSlow = false

  init(_ stream: any ByteStream, _ origin: LinkOrigin, _ context: LoopContext) {
    self.stream = stream
    self.origin = origin
    self.context = context
    ownStream = stream as? any LoopStream
    runsOnLoops = ownStream?.runsOnLoops == true
    facts = LinkFacts(stream.facts)
    reference.target = self
  }

  deinit { if !isClosed { stream.close() } }

  func attach(_ user: any LinkUser) {
    self.user = user
    wants.read = true
    readOn()
  }

  // MARK: Trust

  var isCurrent: Bool { origin.isCurrent }

  func admit(_ target: TrustTarget) -> LinkAdmission { origin.admit(stream.facts.trust) }

  // MARK: Reading

  func receive(into space: UnsafeMutableRawBufferPointer) -> LinkStep {
    let count = min(space.count, incoming.count)
    guard count > 0 else { return end ?? .wait }
    space.copyBytes(from: incoming.prefix(count))
    incoming = count < incoming.count ? incoming.dropFirst(count) : Data()
    return .moved(count)
  }

  var hidesInput: Bool { !isClosed && (!incoming.isEmpty || end != nil) }
  var mayHaveMore: Bool { hidesInput }

  /// Also returns true if a read has ended whose event is not processed yet.
  var hasInput: Bool {
    acceptOutcome()
    return hidesInput
  }

  /// The end of a stream that has carried nothing has a reason to report, such as a missing client certificate, which
  /// the read returns. A response may arrive before the task of the write resumes, so that nothing is acknowledged yet.
  func hasEndedUnseen(isHeard: Bool) -> Bool {
    (acknowledged > 0 || hasRead) && ownStream?.hasEnded(on: isHeard ? nil : context) == true
  }

  func hasUnsolicitedInput(_ scratch: UnsafeMutableRawBufferPointer, isHeard: Bool) -> Bool {
    hasInput || hasEndedUnseen(isHeard: isHeard)
  }

  private func readOn() {
    guard wants.read, !isReading, !isReporting, !isClosed, incoming.isEmpty, end == nil else { return }
    isReading = true
    reading = startTask { [stream, reference, inbox = context.inbox] in
      let outcome = await stream.outcomeOfReading(upTo: Self.readBytes)
      reference.outcome.withLock { $0 = outcome }
      _ = inbox.perform { _ in reference.target?.wasRead() }
    }
  }

  /// Begins a read or a write.
  private func startTask(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    // Bytes that have already arrived are found at once, so that they are not mistaken for the response to a later
    // request.
    if runsOnLoops { return Task.immediate(executorPreference: context.inbox) { await body() } }
    return Task { await body() }
  }

  private func wasRead() {
    acceptOutcome()
    if hidesInput { report(readable: true, writable: false) } else { readOn() }
  }

  /// Makes the outcome of a read that has ended available to `receive`.
  private func acceptOutcome() {
    guard isReading, let outcome = reference.outcome.withLock({ $0.take() }) else { return }
    isReading = false
    reading = nil
    switch outcome {
    case .success(let data?):
      incoming = data
      hasRead = true
    case .success(nil): end = .end(isClean: true)
    case .failure(let error) where error.code == .truncatedStream || error.code == .streamClosed:
      end = .end(isClean: false)
    case .failure(let error):
      failure = error
      end = .failed
    }
  }

  // MARK: Writing

  var acceptsWrites: Bool { !isWriting }
  var hasLostBytes: Bool { writeFailure != nil }

  func send(_ bytes: UnsafeRawBufferPointer) -> LinkStep {
    if let writeFailure {
      failure = writeFailure
      return .failed
    }
    guard !isWriting else { return .wait }
    let piece = Data(bytes.prefix(isSlow ? Self.slowWriteBytes : Self.writeBytes))
    isWriting = true
    queued = UInt64(piece.count)
    writeBeganAt = context.now
    writing = startTask { [stream, reference, inbox = context.inbox] in
      let error = await stream.failureOfWriting(piece)
      _ = inbox.perform { _ in reference.target?.wasWritten(error) }
    }
    return .moved(piece.count)
  }

  private func wasWritten(_ error: TransportError?) {
    isWriting = false
    writing = nil
    if isClosed { return }
    let now = context.now
    isSlow = now - writeBeganAt > Self.slowTime
    if let error {
      writeFailure = error
      failure = failure ?? error
    } else {
      acknowledged += queued
      acknowledgedAt = now
    }
    queued = 0
    // Nothing else may be left to write, so that no later write would find the failure.
    if wants.write || error != nil { report(readable: false, writable: true) }
  }

  func delivery(now: Int64) -> LinkDelivery? {
    LinkDelivery(acknowledged: acknowledged, queued: queued, acknowledgedAt: acknowledgedAt)
  }

  // MARK: Waiting

  func watch(read: Bool, write: Bool) {
    wants = (read, write)
    readOn()
    // The write may have completed since the connection began to wait.
    if write, !isWriting, !isClosed { reportLater() }
  }

  private func report(readable: Bool, writable: Bool) {
    isReporting = true
    user?.ready(readable: readable, writable: writable)
    isReporting = false
    readOn()
  }

  private func reportLater() { _ = context.inbox.perform { [reference] _ in reference.target?.mayBeWritable() } }

  private func mayBeWritable() {
    if wants.write, !isWriting, !isClosed { report(readable: false, writable: true) }
  }

  // MARK: The end

  func handOver(early: [UInt8]) -> (any ByteStream)? {
    guard !isWriting, !isReading, !isClosed else { return nil }
    isClosed = true
    user = nil
    return TunnelStream(stream, early: Data(early) + incoming, isSameHost: true)
  }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    user = nil
    reading?.cancel()
    writing?.cancel()
    stream.close()
  }
}

/// A reference to a link, for its reads and writes.
private final class StreamLinkReference: Sendable {
  // Unchecked because after the reference is shared, only the loop's thread dereferences it.
  nonisolated(unsafe) weak var target: StreamLink?
  /// The outcome of a read that has ended, until the link accepts it.
  let outcome = Lock<Result<Data?, TransportError>?>(nil)
}

extension ByteStream {
  fileprivate func outcomeOfReading(upTo maximum: Int) async -> Result<Data?, TransportError> {
    do throws(TransportError) { return .success(try await read(upTo: maximum, within: nil)) } catch {
      return .failure(error)
    }
  }

  fileprivate func failureOfWriting(_ data: Data) async -> TransportError? {
    do throws(TransportError) { try await write(data, within: nil) } catch { return error }
    return nil
  }
}
