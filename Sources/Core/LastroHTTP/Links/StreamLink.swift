// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import Synchronization

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
  /// The executor of the stream's reads and writes.
  private let executor: (any TaskExecutor)?
  /// Whether reads and writes may begin on the loop's thread.
  private let runsOnLoops: Bool
  // Unowned, because a weak reference makes reference counting of the user slower. The user closes its link before it
  // is released.
  private unowned var user: (any LinkUser)?

  private var wants = (read: false, write: false)
  /// Whether readiness is being reported, in which case the next read begins afterwards.
  private var isReporting = false
  private var isReading = false
  private var isWriting = false
  private var isClosed = false
  /// Bytes that have arrived. The unread ones begin at ``taken``.
  private var incoming = Data()
  private var taken = 0
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
    runsOnLoops = (stream as? any LoopStream)?.runsOnLoops == true
    executor = runsOnLoops ? context.executor : nil
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
    let count = min(space.count, incoming.count - taken)
    guard count > 0 else { return end ?? .wait }
    let start = incoming.startIndex + taken
    incoming.copyBytes(to: space, from: start..<start + count)
    taken += count
    if taken == incoming.count {
      incoming = Data()
      taken = 0
    }
    return .moved(count)
  }

  var hidesInput: Bool { !isClosed && (taken < incoming.count || end != nil) }
  var hasInput: Bool { hidesInput }
  var mayHaveMore: Bool { hidesInput }

  /// Also returns true if a read has ended whose event is not processed yet.
  func hasUnsolicitedInput(_ scratch: UnsafeMutableRawBufferPointer, isHeard: Bool) -> Bool {
    hidesInput || reference.wasRead.load(ordering: .acquiring)
  }

  private func readOn() {
    guard wants.read, !isReading, !isReporting, !isClosed, incoming.isEmpty, end == nil else { return }
    isReading = true
    reading = stream.pump(on: executor, startsHere: runsOnLoops, reference, context.inbox) { stream in
      .read(await stream.outcomeOfReading(upTo: Self.readBytes))
    }
  }

  fileprivate func wasRead(_ outcome: Result<Data?, TransportError>) {
    reference.wasRead.store(false, ordering: .relaxed)
    isReading = false
    reading = nil
    if isClosed { return }
    switch outcome {
    case .success(let data?): incoming = data
    case .success(nil): end = .end(isClean: true)
    case .failure(let error) where error.code == .truncatedStream || error.code == .streamClosed:
      end = .end(isClean: false)
    case .failure(let error):
      failure = error
      end = .failed
    }
    report(readable: true, writable: false)
  }

  // MARK: Writing

  var acceptsWrites: Bool { !isWriting }

  func send(_ bytes: UnsafeRawBufferPointer) -> LinkStep {
    if let writeFailure {
      failure = writeFailure
      return .failed
    }
    guard !isWriting else { return .wait }
    let piece = Data(bytes.prefix(isSlow ? Self.slowWriteBytes : Self.writeBytes))
    isWriting = true
    queued = UInt64(piece.count)
    writeBeganAt = context.clock.now
    writing = stream.pump(on: executor, startsHere: runsOnLoops, reference, context.inbox) { stream in
      .written(await stream.failureOfWriting(piece))
    }
    return .moved(piece.count)
  }

  fileprivate func wasWritten(_ error: TransportError?) {
    isWriting = false
    writing = nil
    if isClosed { return }
    let now = context.clock.now
    isSlow = now - writeBeganAt > Self.slowTime
    if let error {
      writeFailure = error
    } else {
      acknowledged += queued
      acknowledgedAt = now
    }
    queued = 0
    if wants.write { report(readable: false, writable: true) }
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

  private func reportLater() { _ = context.inbox.post(StreamLinkEvent(link: reference, kind: .writable)) }

  fileprivate func mayBeWritable() {
    if wants.write, !isWriting, !isClosed { report(readable: false, writable: true) }
  }

  // MARK: The end

  func handOver(early: [UInt8]) -> (any ByteStream)? {
    guard !isWriting, !isReading, !isClosed else { return nil }
    isClosed = true
    user = nil
    return TunnelStream(upgraded: stream, early: Data(early) + incoming.dropFirst(taken))
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
  /// Whether a read has ended whose outcome the link has not processed.
  let wasRead = Atomic<Bool>(false)
}

/// The outcome of a read or a write of a ``StreamLink``, or its readiness for the next write.
private struct StreamLinkEvent: GuestCommand {
  enum Kind: Sendable {
    case read(Result<Data?, TransportError>)
    case written(TransportError?)
    case writable
  }

  let link: StreamLinkReference
  let kind: Kind

  func perform(on loop: LoopCore) {
    switch kind {
    case .read(let outcome): link.target?.wasRead(outcome)
    case .written(let error): link.target?.wasWritten(error)
    case .writable: link.target?.mayBeWritable()
    }
  }
}

extension ByteStream {
  /// Begins a read or a write, and posts its outcome to the loop of a link.
  fileprivate func pump(
    on executor: (any TaskExecutor)?, startsHere: Bool, _ link: StreamLinkReference, _ inbox: LoopInbox,
    _ body: @escaping @Sendable (Self) async -> StreamLinkEvent.Kind
  ) -> Task<Void, Never> {
    let pump = { @Sendable () async in
      let kind = await body(self)
      if case .read = kind { link.wasRead.store(true, ordering: .releasing) }
      _ = inbox.post(StreamLinkEvent(link: link, kind: kind))
    }
    // Bytes that have already arrived are found at once, so that they are not mistaken for the response to a later
    // request.
    if startsHere { return Task.immediate(executorPreference: executor) { await pump() } }
    return Task(executorPreference: executor) { await pump() }
  }

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
