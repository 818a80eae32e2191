// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Reads the response to one job: decides by the head what is done with the body, decodes its content codings, and
/// delivers it to the caller's memory or stream.
///
/// Every ``Exchange`` is one. Thread: the loop's; it is not `Sendable`, so the compiler keeps it there.
class ResponseReceiver: BodySink {
  /// The longest time that is spent on the rest of a body for the sake of its connection.
  private static let drainTime = Duration.seconds(1)

  final let job: EngineJob
  final let limits: MessageSettings
  final let clock: LoopClock
  final let deliveries: Deliveries

  // Unchecked because the loop's thread alone touches it, and deciding calls nothing that comes back here.
  @exclusivity(unchecked) final var route = BodyRoute()
  /// Decodes the body on its way to the sink, where it has a content coding.
  // Unchecked because a decoder that calls back here is not replaced meanwhile.
  @exclusivity(unchecked) final var decoder: BodyDecoder?
  // Unchecked because the loop's thread alone touches it, and appending calls nothing of ours.
  @exclusivity(unchecked) final private var collected: CollectedBody
  /// Decoded bytes handed on.
  final private(set) var delivered: Int64 = 0
  /// Bytes of content codings that were undone.
  final private(set) var coded: Int64 = 0
  /// Set once the job is answered and only the rest of a body is read, for the connection's sake: until then at most.
  final private(set) var drainsUntil: Int64?
  /// Set while a redirect waits for the rest of its short body, so that the next request finds the connection free:
  /// until then at most.
  final private(set) var answersHeadAt: Int64?
  /// The reason why we ended the exchange.
  final var failure: TransportError? { didSet { hasFailed = true } }
  final private(set) var hasFailed = false
  /// Whether request bytes may have left.
  final var requestSent = false
  final var receivingPaused = false
  /// Bytes of the request's body that were handed to the engine.
  final var uploadOffset = 0
  /// The bytes of the request's body that were sent, or are about to be.
  var handedOver: Int { uploadOffset }
  /// Set where the caller wants to know.
  // Unchecked because the loop has it alone, and who hears of progress does not come back here.
  @exclusivity(unchecked) final private var progress: ProgressMeter?
  final let startedAt: Int64
  final var lastActivity: Int64
  final var receivedAt: UInt64 { UInt64(clamping: lastActivity) }

  /// - Parameter start: when it began, if that was before now.
  init(_ job: EngineJob, in engine: HTTPEngine, startedAt start: Int64? = nil) {
    self.job = job
    let context = engine.context
    limits = engine.settings.messages
    clock = context.clock
    deliveries = context.deliveries
    collected = CollectedBody(store: context.bodies)
    progress = ProgressMeter(job.request.progress)
    startedAt = start ?? clock.now
    lastActivity = clock.now
  }

  // MARK: What a engine adds

  /// Returns the facts of the exchange so far.
  func facts() -> TransferFacts { TransferFacts() }

  /// Bytes of the body as they came over the wire.
  var wireBytes: Int64 { 0 }

  /// Whether the engine lets no more of a body come than a reader that takes nothing may be left with.
  var isBounded: Bool { false }

  /// The answer was given at its head, and what is left of the body will be read behind the caller's back.
  func noteDrain() {}

  // MARK: Head

  /// Decides by the final head what is done with its body. False: no more of the answer is wanted.
  ///
  /// - Throws: why the answer cannot be taken.
  final func take(
    _ response: HTTPResponse, of head: ResponseHead, _ framing: ResponseFraming
  ) throws(TransportError) -> Bool {
    if job.request.dropsRedirectBodies, response.isRedirect { return answerAtHead() }
    if head.status == 101 || job.asks == .connect && head.status / 100 == 2 {
      route.sink = .collect(limit: 0, cuts: true)
    } else {
      try route.decide(job.request, status: head.status)
      if route.wantsNothing {
        route.cutAtHead()
        return false
      }
    }
    decoder = try BodyDecoder.make(head, framing, for: self)
    if route.isStream, let channel = job.body {
      let body = ResponseBody(source: StreamedBody(job, channel))
      deliveries.answer(job, .success(TransferResponse(head: response, body: body, facts: facts())))
    }
    return true
  }

  /// Notes the final head, which ``take(_:of:_:)`` decides by.
  final func note(_ response: HTTPResponse, _ framing: ResponseFraming) {
    route.note(response, framing, toHead: job.isHead)
  }

  /// Ends the response at its head: its body is not read.
  final func cutAtHead() { route.cutAtHead() }

  /// The time that a redirect may wait for the rest of its body before the job is answered with its head; nil where the
  /// connection cannot be used again, so that none of the body is read. Zero where other requests need not wait for the
  /// connection.
  var redirectPatience: Duration? { .zero }

  /// Decides what is done with a redirect's body. A short one is read, so that the connection can be used again: at
  /// first before the job is answered, and then behind the caller's back. Of every other body nothing is read. Over
  /// HTTP/2 that resets the stream only.
  ///
  /// - Returns: whether the exchange continues.
  private func answerAtHead() -> Bool {
    route.sink = .drop
    // What of the request is still to be sent has no length that a server would wait for.
    guard job.request.body.isEmpty || job.request.body.length == Int64(handedOver), route.leavesLittle,
      let patience = redirectPatience
    else {
      route.wasCut = true
      return false
    }
    if patience > .zero { answersHeadAt = lastActivity.adding(patience) } else { answerHead() }
    return true
  }

  /// Answers the job with the head alone, and reads the rest of the body behind the caller's back.
  final func answerHead() {
    guard let response else { return }
    answersHeadAt = nil
    drainsUntil = lastActivity.adding(Self.drainTime)
    deliveries.answer(job, .success(TransferResponse(head: response, body: ResponseBody(Data()), facts: facts())))
    noteDrain()
  }

  // MARK: Body

  final func hasRoom() -> Bool {
    guard route.isStream, let body = job.body, !body.hasRoom() else { return true }
    receivingPaused = true
    return false
  }

  final func noteCoded(_ count: Int) { coded += Int64(count) }

  /// Memory that the body may be received into, so that it need not be copied, where it goes to a stream as it comes.
  final var streamSpace: UnsafeMutableRawBufferPointer? {
    guard route.isStream, decoder == nil, !hasFailed, !wasCut else { return nil }
    return job.body?.space()
  }

  /// Takes a piece of the body as the engine has it.
  final func take(body bytes: UnsafeRawBufferPointer) throws(TransportError) -> BodyVerdict {
    if hasFailed || wasCut { return .refused }
    return try decoder == nil ? deliver(bytes) : decode(bytes)
  }

  private func decode(_ bytes: UnsafeRawBufferPointer) throws(TransportError) -> BodyVerdict {
    try decoder?.receive(bytes, for: self) ?? .refused
  }

  final func deliver(_ bytes: UnsafeRawBufferPointer) -> BodyVerdict {
    switch route.share(of: bytes.count, behind: delivered) {
    case .none(let error):
      failure = error
      return .refused
    case .part(let count):
      if !collected.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(count))) { failure = .noMemoryForBody }
      return .refused
    case .cut: return .refused
    case .all: return take(bytes)
    }
  }

  private func take(_ bytes: UnsafeRawBufferPointer) -> BodyVerdict {
    switch route.sink {
    case .collect:
      if collected.isEmpty, let room = route.reservation(beyond: bytes.count) { _ = collected.reserve(room) }
      guard collected.append(bytes) else {
        failure = .noMemoryForBody
        return .refused
      }
    case .stream: if !offer(bytes) { return .full }
    case .undecided, .drop: return .taken
    }
    delivered += Int64(bytes.count)
    noteReceiving()
    return .taken
  }

  private func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch job.body?.offer(bytes, isBounded: isBounded && decoder == nil) {
    case .taken, nil: break
    case .takenBeyond: receivingPaused = true
    case .takenForReader: deliveries.noteBody(of: job)
    case .full:
      receivingPaused = true
      return false
    }
    return true
  }

  // MARK: Progress

  /// Reports the upload's progress, when it is due.
  final func noteSending() { progress?.sent(Int64(handedOver), at: lastActivity) }

  /// Reports the body's progress, when it is due.
  private func noteReceiving() {
    guard progress != nil else { return }
    let total = route.length
    progress?.received(decoded: delivered, at: lastActivity, wire: { wireBytes }, of: total)
  }

  /// Tells how far it came in the end.
  private func noteEnd(_ facts: TransferFacts) {
    guard let transfer = progress?.transfer else { return }
    if !job.request.body.isEmpty { transfer.report(sent: Int64(handedOver)) }
    transfer.report(received: facts.bytesReceived, of: route.length)
  }

  // MARK: The end

  /// Answers the job.
  ///
  /// - Parameter stream: the link as a stream, where the response ended HTTP on it.
  final func report(_ failure: TransportError?, facts: TransferFacts, upgraded stream: (any ByteStream)? = nil) {
    noteEnd(facts)
    // A redirect that only waited for the rest of its body is followed all the same.
    if var failure, answersHeadAt == nil {
      failure.facts = facts
      failure.head = response ?? failure.head
      // What came before the failure is for the reader that waits, also when both came in one turn.
      job.body?.handOver {}
      return job.finish(failure, facts: facts)
    }
    switch route.sink {
    case .collect, .drop:
      if let response {
        let body = stream.map(ResponseBody.init(upgraded:)) ?? ResponseBody(collected.take())
        let isTaken = deliveries.answer(job, .success(TransferResponse(head: response, body: body, facts: facts)))
        // A caller that has given up must not leave a stream behind.
        if !isTaken { stream?.close() }
      }
    case .undecided, .stream: break
    }
    job.finish(nil, facts: facts)
  }
}

extension ResponseReceiver {
  /// Whether the request asks for content codings on the caller's behalf. A caller that names `Accept-Encoding` or
  /// `Range` gets bytes as sent.
  final var expandsBody: Bool { limits.decompresses && job.request.head.headerFields.leaveCodingToUs }

  final var response: HTTPResponse? { route.response }
  /// The response's.
  final var framing: ResponseFraming { route.framing }
  final var mayHaveBody: Bool { route.mayHaveBody }
  final var goesToStream: Bool { route.isStream }
  final var isErrorAnswer: Bool { route.isErrorAnswer }
  /// Whether the rest of the body is not wanted.
  final var wasCut: Bool { route.wasCut }
  /// The reason why the collected body is incomplete.
  final var bodyCut: BodyCut? { route.cut }

  /// Returns the failure to report, if any: see `BodyRoute.weigh(_:)`.
  final func weigh(_ found: TransportError) -> TransportError? { route.weigh(found) }
}
