// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import HTTPTypes
internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The object libcurl's callbacks of one transfer land on.
///
/// Owner: ``Partition/transfers``, from `curl_multi_add_handle` until the transfer is finished. Thread: the loop's, for
/// its whole life; it is not `Sendable`, so the compiler keeps it there. libcurl finds it through its ``EasyHandle``, and
/// calls back only between those two points.
final class Transfer {
  /// What is done with body bytes.
  enum Sink {
    case undecided
    /// Into memory. `cuts`: the rest is dropped instead of failing, for bodies of errors.
    case collect(limit: Int, cuts: Bool)
    case stream(limit: Int?)
    /// Read and forgotten: nobody wants the body.
    case drop
  }

  let job: TransferJob
  let easy: EasyHandle
  let host: HostQueue
  let limits: TransferLimits
  let trust: PartitionTrust
  let clock: LoopClock
  let deliveries: Deliveries
  var headerList = HeaderList()

  // Unchecked because the loop's thread alone touches it, and nothing called while a line is read comes back here.
  @exclusivity(unchecked) private(set) var machine: ResponseHeadMachine
  private(set) var response: HTTPResponse?
  /// The response's; the machine is too large to be asked for each piece of the body.
  private var framing = ResponseFraming()
  /// What is between libcurl and the sink, where the body is chunked or compressed.
  var decoder: BodyDecoder?
  // Likewise, because appending calls nothing of ours.
  @exclusivity(unchecked) var collected: CollectedBody
  var sink = Sink.undecided
  /// Decoded bytes handed on.
  private(set) var delivered: Int64 = 0
  var wasCut = false
  /// Why what is collected is not the whole body.
  var bodyCut: BodyCut?
  /// Set once the job is answered and only the rest of a body is read, for the connection's sake: until then at most.
  var drainsUntil: Int64?
  /// Why we made libcurl stop; it knows better than libcurl's own code.
  var failure: TransportError? { didSet { hasFailed = true } }
  private var hasFailed = false
  /// Whether request bytes may have left.
  private(set) var requestSent = false
  private(set) var resends: Int
  let share = ConnectionShare()
  /// Why the job must begin anew, where nothing was sent.
  private(set) var restart: Restart?
  /// Whether libcurl is done with it, and only the end of the upload's source is waited for.
  var isDelivered = false

  /// The descriptor libcurl last asked to watch for this transfer: that of its connection.
  var socket: Int32?
  private(set) var remoteAddress: String?
  private(set) var remotePort: Int?
  private(set) var localPort: Int?
  var receivingPaused = false
  var sendingPaused = false
  private var requestSizeAtStart: Int64 = 0
  var tunnelSteps = 0
  var uploadOffset = 0
  /// Set where somebody wants to know.
  var progress: ProgressMeter?
  private(set) var tls: OpaquePointer?
  /// The latest TLS connection that was begun for it: to the proxy, or to the server.
  var peer: TLSPeer?
  /// What the server was accepted as.
  private var verdict: TrustVerdict?

  let startedAt: Int64
  private let connectLimit: Int64
  var lastActivity: Int64

  init(
    job: TransferJob, easy: EasyHandle, host: HostQueue, limits: TransferLimits, trust: PartitionTrust,
    clock: LoopClock, deliveries: Deliveries, bodies: BodyBlockStore
  ) {
    collected = CollectedBody(store: bodies)
    self.clock = clock
    self.deliveries = deliveries
    self.job = job
    self.trust = trust
    self.easy = easy
    self.host = host
    self.limits = limits
    resends = job.resends
    progress = ProgressMeter(job.request.progress)
    startedAt = clock.now
    lastActivity = startedAt
    // A little later than libcurl's, whose error knows more.
    connectLimit = job.request.connectTimeout.map { clock.now.adding($0 + .milliseconds(50)) } ?? .max
    machine = ResponseHeadMachine(
      maximumHeadBytes: limits.headBytes, maximumFields: limits.headFields,
      maximumInterimResponses: limits.interimResponses)
  }

  deinit {
    if let tls { clastro_connection_release(tls) }
  }

  // MARK: Deadlines

  /// When the loop must look at this transfer again: the deadline, or the end of its patience with a silent peer.
  var expiresAt: Int64 {
    if let drainsUntil { return drainsUntil }
    var result = min(job.expiresAt, connectExpiresAt)
    if let idle = job.request.idleTimeout, !waitsForUs { result = min(result, lastActivity.adding(idle)) }
    return result
  }

  /// The end of the connect phase. libcurl's own limit starts anew for a transfer that waited for another's connection
  /// attempt, which failed.
  var connectExpiresAt: Int64 {
    requestSent ? .max : connectLimit
  }

  /// Whether nothing moves because of our own side: a slow reader, or a slow writer while no answer has come. A server
  /// that has begun to answer may be done with us before the upload is.
  var waitsForUs: Bool { receivingPaused || (sendingPaused && response == nil) }

  // MARK: Callbacks

  /// About to send the request (`CURLOPT_PREREQFUNCTION`): once, and again when libcurl wants to resend it.
  func willSend(remote: UnsafePointer<CChar>?, remotePort: Int32, localPort: Int32) -> Int32 {
    lastActivity = clock.now
    host.learnReachable()
    if hasUnsolicitedInput(localPort: localPort) {
      restart = .onFreshConnection
      return Int32(CURL_PREREQFUNC_ABORT)
    }
    let size = clastro_request_size(easy.raw)
    if remoteAddress != nil, size > requestSizeAtStart {
      // A pooled connection died with the request on it. Sending again is the caller's decision unless harmless.
      // A source that was partly read cannot be sent again from its start.
      guard job.request.allowsResend, job.upload == nil || uploadOffset == 0 else {
        failure = .connectionLost("the connection was closed after the request was sent and before a response came")
        return Int32(CURL_PREREQFUNC_ABORT)
      }
      resends += 1
    }
    if let tls { clastro_connection_release(tls) }
    tls = host.key.isTLS ? clastro_connection_retain(easy.raw) : nil
    switch join(tls, localPort: localPort) ? checkTrust(of: tls) : .restart(.onFreshConnection) {
    case .trusted(let verdict): self.verdict = verdict
    case .restart(let reason):
      restart = reason
      return Int32(CURL_PREREQFUNC_ABORT)
    case .refused(let error):
      failure = error
      return Int32(CURL_PREREQFUNC_ABORT)
    }
    requestSizeAtStart = size
    requestSent = true
    job.noteSent()
    // Not before: a body that can be read only once is untouched when no connection comes about.
    job.upload?.start { [weak job] in if let job { _ = job.loop.post(.resumeSending(job)) } }
    uploadOffset = 0
    if let remote { remoteAddress = String(cString: remote) }
    self.remotePort = Int(remotePort)
    self.localPort = Int(localPort)
    return Int32(CURL_PREREQFUNC_OK)
  }

  /// One raw header line. False ends the transfer.
  func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
    noteHearing()
    if hasFailed { return false }
    do {
      if case .final(let head) = try machine.consume(line: line, resembling: host.heads.latest) { return receive(head) }
      return true
    } catch {
      return fail(error.transportError)
    }
  }

  /// A piece of the body as it came. Gives the count to answer libcurl with.
  func receive(body bytes: UnsafeRawBufferPointer) -> Int {
    noteHearing()
    if hasFailed || wasCut { return 0 }
    do {
      return try decoder == nil ? deliver(bytes) : decode(bytes)
    } catch {
      failure = error
      return 0
    }
  }

  /// A piece of the decoded body.
  func deliver(_ bytes: UnsafeRawBufferPointer) -> Int {
    switch sink {
    case .undecided:
      failure = TransportError(
        stage: .response, code: .malformedResponse, message: "a body came before a complete response head",
        requestSent: true)
      return 0
    case .collect(let limit, let cuts):
      defer { noteReceiving() }
      return collect(bytes, limit: limit, cuts: cuts)
    case .stream(let limit):
      defer { noteReceiving() }
      return stream(bytes, limit: limit)
    case .drop: return bytes.count
    }
  }

  // MARK: Resuming

  func resumeReceiving() -> CURLcode {
    guard receivingPaused else { return CURLE_OK }
    receivingPaused = false
    lastActivity = clock.now
    return curl_easy_pause(easy.raw, sendingPaused ? CURLPAUSE_SEND : CURLPAUSE_CONT)
  }

  func resumeSending() -> CURLcode {
    if let error = failureOfSourceAtEnd {
      failure = error
      return CURLE_ABORTED_BY_CALLBACK
    }
    guard sendingPaused else { return CURLE_OK }
    sendingPaused = false
    lastActivity = clock.now
    return curl_easy_pause(easy.raw, receivingPaused ? CURLPAUSE_RECV : CURLPAUSE_CONT)
  }

  // MARK: The end

  func facts() -> TransferFacts {
    var facts = TransferFacts(
      easy.facts, remoteAddress: remoteAddress, remotePort: remotePort, localPort: localPort, resends: resends,
      trust: verdict, queued: startedAt - job.enqueuedAt,
      elapsed: clock.now - startedAt)
    facts.bodyCut = bodyCut
    return facts
  }
}

extension Transfer {
  /// Apart, since it would cost every line that is fine. Gives false, for the callback to give.
  @inline(never)
  private func fail(_ error: TransportError) -> Bool {
    failure = error
    return false
  }

  private func receive(_ head: ResponseHead) -> Bool {
    let response: HTTPResponse
    do {
      response = try host.heads.response(head, known: machine.takeKnown())
    } catch {
      return fail(error)
    }
    guard head.version.major == 1 || speaksHTTP2 else {
      failure = TransportError(
        stage: .response, code: .malformedResponse,
        message: "the response says HTTP/\(head.version.major) over an HTTP/1.1 connection", requestSent: true)
      return false
    }
    if head.status == 407, host.isProxied, !host.key.isTLS {
      failure = TransportError(
        stage: .proxy, code: .proxyRefused, message: "the proxy answered 407",
        hint: "give user and password in the proxy's URL", requestSent: true)
      return false
    }
    self.response = response
    framing = machine.framing
    // libcurl would send the request again by itself, without its Expect: end here, with the status.
    if head.status == 417, !job.request.body.isEmpty {
      sink = .collect(limit: 0, cuts: true)
      wasCut = true
      if announcesBody { bodyCut = .unread }
      return false
    }
    // libcurl does not end an answered transfer while its upload is paused.
    if sendingPaused { _ = job.loop.post(.resumeSending(job)) }
    if head.version.major == 2 { noteAnswerOverHTTP2() } else { host.learnHTTP1() }
    if job.request.dropsRedirectBodies, response.isRedirect { return answerAtHead(response) }
    let isSuccess = (200..<300).contains(head.status)
    switch job.request.delivery {
    case .collected(let limit):
      let errorLimit = min(limit, job.request.maximumErrorBytes ?? limit)
      sink = .collect(limit: isSuccess ? limit : errorLimit, cuts: !isSuccess)
    case .streamed(let limit): sink = .stream(limit: limit)
    case .streamedOnSuccess(let limit, let errorBytes):
      sink = isSuccess ? .stream(limit: limit) : .collect(limit: errorBytes, cuts: true)
    }
    if let excess = announcedExcess { return fail(excess) }
    do {
      decoder = try BodyDecoder.make(head, framing, for: self)
    } catch {
      return fail(error)
    }
    if case .stream = sink, let channel = job.body {
      let body = ResponseBody(source: StreamedBody(job, channel))
      deliveries.answer(job, .success(TransferResponse(head: response, body: body, facts: facts())))
    }
    return true
  }

  private func collect(_ bytes: UnsafeRawBufferPointer, limit: Int, cuts: Bool) -> Int {
    let room = limit - collected.count
    if bytes.count > room {
      if cuts {
        guard collected.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, room)))) else {
          failure = .noMemoryForBody
          return 0
        }
        wasCut = true
        bodyCut = .limit(limit)
      } else {
        failure = .bodyTooLarge(limit)
      }
      return 0
    }
    if collected.isEmpty, let length = framing.contentLength, length > Int64(bytes.count), !framing.hasContentEncoding {
      // The server's word is worth a megabyte.
      _ = collected.reserve(min(limit, Int(clamping: length), 1 << 20))
    }
    guard collected.append(bytes) else {
      failure = .noMemoryForBody
      return 0
    }
    delivered += Int64(bytes.count)
    return bytes.count
  }

  private func stream(_ bytes: UnsafeRawBufferPointer, limit: Int?) -> Int {
    if let limit, Int64(bytes.count) > Int64(limit) - delivered {
      failure = .bodyTooLarge(limit)
      return 0
    }
    switch job.body?.offer(bytes) {
    case .taken, nil: break
    case .takenForReader: deliveries.noteBody(of: job)
    case .full:
      receivingPaused = true
      return Int(CURL_WRITEFUNC_PAUSE)
    }
    delivered += Int64(bytes.count)
    return bytes.count
  }
}
