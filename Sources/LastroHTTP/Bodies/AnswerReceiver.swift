// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Takes the answer to one job, whatever version of HTTP it comes in: decides by the head what is done with the body,
/// undoes its content codings, and hands it to the caller's memory or stream.
///
/// Owner: the connection that carries the job, under its lock.
final class AnswerReceiver: BodySink {
  let job: ExchangeJob
  private let effects: Effects
  private var settings: ExchangeSettings { job.settings }
  private var route = BodyRoute()
  private var decoder: BodyDecoder?
  private var collected = Data()
  /// Decoded bytes handed on.
  private(set) var delivered: Int64 = 0
  /// Bytes of the body as they came over the wire.
  var wireBytes: Int64 = 0
  /// What followed the body.
  private(set) var trailers: HTTPFields = [:]
  /// Why the answer cannot be taken.
  var failure: TransportError?
  /// Whether the reader is slow: ``BodyChannel`` tells when there is room.
  var isPaused = false
  private var progress: ProgressMeter?
  private var isDone = false

  init(_ job: ExchangeJob, _ effects: Effects) {
    self.job = job
    self.effects = effects
    progress = ProgressMeter(job.request.progress)
  }

  // MARK: Head

  /// Decides by the final head what is done with its body. False: no more of the answer is wanted.
  ///
  /// - Parameter isSent: whether the request is out as a whole.
  /// - Throws: why the answer cannot be taken.
  func take(
    _ head: ResponseHead, as response: HTTPResponse, _ framing: ResponseFraming, isSent: Bool,
    facts: () -> TransferFacts
  ) throws(TransportError) -> Bool {
    let request = job.request
    route.note(response, framing, toHead: request.head.method == .head)
    if request.dropsRedirectBodies, response.isRedirect {
      route.sink = .drop
      answer(Data(), facts())
      route.wasCut = !isSent || !route.leavesLittle
      return !wasCut
    }
    if head.status == 101 || job.asks == .connect && head.status / 100 == 2 {
      route.sink = .collect(limit: 0, cuts: true)
    } else {
      try route.decide(request, status: head.status)
      if case .collect(limit: 0, cuts: true) = route.sink, route.announcesBody {
        route.cutAtHead()
        return false
      }
    }
    decoder = try BodyDecoder.make(
      head, framing, to: request.head.method, expands: expandsBody, isStream: isStream,
      limits: settings.decoding)
    if isStream, let channel = job.body {
      let body = ResponseBody(source: StreamedBody(job, channel))
      give(TransferResponse(head: response, body: body, facts: facts()))
    }
    return true
  }

  /// An interim response came.
  func tell(interim head: ResponseHead) {
    if let telling = job.request.interimTelling(head) { effects.add(telling) }
  }

  func take(trailers fields: [ResponseHead.Field]) { trailers = HTTPFields(trailers: fields) }

  /// The answer stands as it is, and its body is not read.
  func cutAtHead(_ response: HTTPResponse, _ framing: ResponseFraming) {
    route.note(response, framing, toHead: job.request.head.method == .head)
    route.cutAtHead()
  }

  var response: HTTPResponse? { route.response }
  /// Whether the body is read for its connection's sake alone.
  var drops: Bool { if case .drop = route.sink { true } else { false } }
  var isErrorAnswer: Bool { route.isErrorAnswer }
  /// Whether the rest of the body is not wanted.
  var wasCut: Bool { route.wasCut }
  /// Why what is collected is not the whole body.
  var bodyCut: BodyCut? { route.cut }
  private var isStream: Bool { route.isStream }

  private var expandsBody: Bool { settings.decompresses && job.request.head.headerFields.leaveCodingToUs }

  // MARK: Body

  /// Takes a piece of the body as it came.
  func take(body bytes: UnsafeRawBufferPointer) throws(TransportError) -> BodyVerdict {
    if failure != nil || wasCut { return .refused }
    guard decoder != nil else { return deliver(bytes) }
    return try decoder?.receive(bytes, for: self) ?? .refused
  }

  /// The body has ended.
  func endBody() throws(TransportError) { try decoder?.end() }

  /// No caller wants what is still to come.
  func drop() {
    route.sink = .drop
    decoder = nil
    isPaused = false
  }

  func hasRoom() -> Bool {
    guard isStream, let body = job.body, !body.hasRoom() else { return true }
    isPaused = true
    return false
  }

  func deliver(_ bytes: UnsafeRawBufferPointer) -> BodyVerdict {
    defer { noteReceiving() }
    switch route.share(of: bytes.count, behind: delivered) {
    case .none(let error):
      failure = error
      return .refused
    case .part(let count):
      collected.append(contentsOf: bytes.prefix(count))
      return .refused
    case .cut: return .refused
    case .all: break
    }
    switch route.sink {
    case .collect:
      if collected.isEmpty, let room = route.reservation(beyond: bytes.count) { collected.reserveCapacity(room) }
      collected.append(contentsOf: bytes)
    case .stream: if !offer(bytes) { return .full }
    case .undecided, .drop: return .taken
    }
    delivered += Int64(bytes.count)
    return .taken
  }

  private func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch job.body?.offer(bytes) {
    case .taken, .takenBeyond, nil: break
    case .takenForReader: effects.add { [job] in job.body?.handOver { job.resumeReceiving() } }
    case .full:
      isPaused = true
      return false
    }
    return true
  }

  // MARK: The end

  /// What becomes of a failure: see ``BodyRoute/weigh(_:)``.
  func weigh(_ found: TransportError) -> TransportError? { route.weigh(found) }

  /// The time that is spent on the body of a refusal is over.
  func cutLate() {
    route.wasCut = true
    route.cut = .late
  }

  /// Answers the job.
  ///
  /// - Parameter upgraded: the stream, where the answer ended HTTP on it.
  func report(_ failure: TransportError?, facts: TransferFacts, upgraded: (any ByteStream)? = nil) {
    guard !isDone else { return }
    isDone = true
    if var failure {
      failure.facts = facts
      failure.head = response ?? failure.head
      return effects.add { [job, failure] in
        job.body?.handOver { job.resumeReceiving() }
        job.finish(failure, facts: facts)
      }
    }
    if !isStream { answer(collected, facts, upgraded: upgraded) }
    effects.add { [job] in job.finish(nil, facts: facts) }
  }

  private func answer(_ body: Data, _ facts: TransferFacts, upgraded: (any ByteStream)? = nil) {
    guard let response else { return }
    let body = upgraded.map(ResponseBody.init(upgraded:)) ?? ResponseBody(body)
    give(TransferResponse(head: response, body: body, facts: facts))
  }

  private func give(_ response: TransferResponse) {
    effects.add { [job] in
      // A stream that was upgraded must not be left behind by a caller who has given up.
      if !job.give(response) { response.body.upgraded?.close() }
    }
  }

  // MARK: Facts

  /// What is known of the exchange, whatever its version of HTTP.
  ///
  /// - Parameter connection: what is known of its connection.
  func facts(_ connection: TransferFacts, from startedAt: Duration, firstByteAt: Duration?) -> TransferFacts {
    var facts = connection
    facts.resends = job.resends
    facts.bytesReceived = wireBytes
    facts.bodyCut = bodyCut
    facts.trailers = trailers
    facts.timings.requestStart = startedAt - job.enteredAt
    facts.timings.firstByte = firstByteAt.map { $0 - job.enteredAt }
    facts.timings.total = settings.time.now() - job.enteredAt
    return facts
  }

  // MARK: Progress

  func noteSending(_ count: Int64) { progress?.sent(count, at: now) }

  private func noteReceiving() {
    guard progress != nil else { return }
    let total = route.length
    progress?.received(decoded: delivered, at: now, wire: { wireBytes }, of: total)
  }

  /// Tells how far it came in the end.
  func noteEnd(sent: Int64, _ facts: TransferFacts) {
    guard let transfer = progress?.transfer else { return }
    if !job.request.body.isEmpty { transfer.report(sent: sent) }
    transfer.report(received: facts.bytesReceived, of: route.length)
  }

  var receivedAt: UInt64 { UInt64(clamping: now) }

  private var now: Int64 { settings.time.now().wholeNanoseconds }
}
