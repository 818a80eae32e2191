// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// Receives the response to one job: decides from its head where the body goes, and delivers the decoded body to the
/// caller's memory or stream.
///
/// It is stored inline in its ``Exchange``, which decodes the body. Thread: the loop's.
struct ResponseReceiver {
  private let job: EngineJob
  private let engine: HTTPEngine
  private var deliveries: Deliveries { engine.context.deliveries }

  var route = BodyRoute()
  /// Whether the body has a content coding that is decoded here.
  private(set) var isDecoded = false
  private var collected: CollectedBody
  /// The number of decoded bytes that were delivered.
  private var delivered: Int64 = 0
  /// The number of bytes of the body as received over the wire.
  var wireBytes: Int64 = 0
  /// Whether the reader must take buffered bytes before more are received.
  var isPaused = false
  /// Whether flow control limits how many bytes can arrive while the reader takes none, as over HTTP/2.
  var isBounded = false
  /// The meter of the progress; `nil` if the caller does not observe it.
  private var progress: ProgressMeter?

  // Inlined into the only caller, which would otherwise copy the value into its own memory.
  @inline(__always)
  init(_ job: EngineJob, in engine: HTTPEngine) {
    self.job = job
    self.engine = engine
    collected = CollectedBody(store: engine.context.bodies)
    progress = ProgressMeter(job.request.progress)
  }

  // MARK: Head

  /// Decides from the final head where the body goes.
  ///
  /// - Returns: false if nothing more of the response is wanted.
  /// - Throws: the reason why the response cannot be accepted.
  mutating func prepare(for head: ResponseHead) throws(TransportError) -> Bool {
    if head.status == 101 || job.asks == .connect && head.status / 100 == 2 {
      route.sink = .collect(limit: 0, cuts: true)
      return true
    }
    try route.decide(job.request, status: head.status)
    guard route.wantsNothing else { return true }
    route.cutAtHead()
    return false
  }

  /// Returns the decoder of the body; `nil` if the body has no content coding that is decoded here.
  mutating func makeDecoder(for head: ResponseHead) throws(TransportError) -> BodyDecoder? {
    // This check comes first, because most bodies have no coding.
    guard route.framing.hasContentEncoding || engine.settings.refusesMisnamedCodings, route.announcesBody, expandsBody
    else { return nil }
    let limits = DecodingLimits(
      codings: engine.settings.maximumContentCodings, ratio: engine.settings.maximumDecompressionRatio,
      memory: engine.settings.decodingMemory)
    let names = ContentEncodingField.codings(of: head, isStrict: engine.settings.refusesMisnamedCodings)
    let decoder = try BodyDecoder(
      names, accepted: engine.settings.codings, limits: limits, isStream: route.isStream)
    isDecoded = decoder != nil
    return decoder
  }

  /// Whether we ask for content codings on the caller's behalf. A caller that sets `Accept-Encoding` or `Range`
  /// receives the bytes as sent: a part of a coded body could not be decoded.
  private var expandsBody: Bool {
    !job.isTunnel && engine.settings.decompresses && !GivenFields(job.request.head.headerFields).contains(.coding)
  }

  /// Answers the job with the head, and the body as a stream.
  func answerWithStream(_ facts: TransferFacts) {
    if let channel = job.body { answer(ResponseBody(source: StreamedBody(job, channel)), facts) }
  }

  /// Ends a stream whose request may continue.
  func endStream(_ facts: TransferFacts) {
    job.body?.wakeReader {}
    job.body?.finish(.success(()), facts: facts)
  }

  /// Answers the job with the head alone.
  func answerHead(_ facts: TransferFacts) { answer(ResponseBody(Data()), facts) }

  /// Answers a job that sends no request, with a response that nobody reads.
  func answerWithNothing() {
    _ = deliveries.answer(job, .success(TransferResponse(head: HTTPResponse(status: .ok), body: ResponseBody(Data()))))
  }

  /// Answers the job with the head and a body. Returns false if the job has an answer already, because its caller
  /// cancelled it.
  @discardableResult
  private func answer(_ body: ResponseBody, _ facts: TransferFacts) -> Bool {
    guard let response = route.response else { return true }
    return deliveries.answer(
      job, .success(TransferResponse(head: response, status: route.status, body: body, facts: facts)))
  }

  // MARK: Body

  mutating func hasRoom() -> Bool {
    guard route.isStream, let body = job.body, !body.hasRoom() else { return true }
    isPaused = true
    return false
  }

  /// The memory that the body may be received into without a copy, if it goes to a stream undecoded; `nil` otherwise.
  var streamSpace: UnsafeMutableRawBufferPointer? {
    guard route.isStream, !isDecoded, !route.wasCut else { return nil }
    return job.body?.space()
  }

  /// Delivers a decoded piece of the body.
  ///
  /// - Throws: the reason why the body cannot be accepted.
  mutating func deliver(_ bytes: UnsafeRawBufferPointer) throws(TransportError) -> BodyVerdict {
    let count = try route.share(of: bytes.count, behind: delivered)
    guard route.wasCut else { return try passToSink(bytes) }
    guard collected.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(count))) else { throw .noMemoryForBody }
    return .refused
  }

  private mutating func passToSink(_ bytes: UnsafeRawBufferPointer) throws(TransportError) -> BodyVerdict {
    switch route.sink {
    case .collect:
      if collected.isEmpty, let room = route.reservation(beyond: bytes.count) { _ = collected.reserve(room) }
      guard collected.append(bytes) else { throw .noMemoryForBody }
    case .stream: if !offer(bytes) { return .full }
    case .undecided, .drop: return .taken
    }
    delivered += Int64(bytes.count)
    tellReceived()
    return .taken
  }

  private mutating func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch job.body?.offer(bytes, isBounded: isBounded && !isDecoded) {
    case .taken, nil: break
    case .takenBeyond: isPaused = true
    case .takenForReader: deliveries.scheduleReader(of: job)
    case .full:
      isPaused = true
      return false
    }
    return true
  }

  // MARK: Progress

  /// Reports the progress of the upload, if a report is due.
  mutating func tellSent(_ count: @autoclosure () -> Int) {
    guard progress != nil else { return }
    let now = engine.now
    progress?.sent(Int64(count()), at: now)
  }

  /// Reports the progress of the response body, if a report is due.
  private mutating func tellReceived() {
    guard progress != nil else { return }
    let total = route.length, now = engine.now, wireBytes = wireBytes
    progress?.received(decoded: delivered, at: now, wire: { wireBytes }, of: total)
  }

  /// Reports the final progress of the upload and of the response body.
  private func tellEnd(_ facts: TransferFacts, sentBytes: Int64) {
    guard let transfer = progress?.transfer else { return }
    if job.request.hasBody { transfer.report(sent: sentBytes) }
    transfer.report(received: facts.bytesReceived, of: route.length)
  }

  // MARK: The end

  /// Answers the job.
  ///
  /// - Parameters:
  ///   - sentBytes: the number of bytes of the request body that were sent.
  ///   - stream: the link as a stream, if the response ended HTTP on it.
  mutating func report(
    _ failure: TransportError?, facts: TransferFacts, sentBytes: @autoclosure () -> Int64,
    upgraded stream: (any ByteStream)? = nil
  ) {
    if progress != nil { tellEnd(facts, sentBytes: sentBytes()) }
    if var failure {
      failure.facts = facts
      failure.head = route.response ?? failure.head
      // Bytes that arrived before the failure go to the waiting reader first, even if both arrived in one turn.
      job.body?.wakeReader {}
      return job.finish(failure, facts: facts)
    }
    switch route.sink {
    case .collect, .drop:
      let body = stream.map(ResponseBody.init(upgraded:)) ?? ResponseBody(collected.take())
      // If the caller has given up, the stream must be closed here.
      if !answer(body, facts) { stream?.close() }
    case .undecided, .stream: break
    }
    job.finish(nil, facts: facts)
  }
}
