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
  }

  let job: TransferJob
  let easy: EasyHandle
  let host: HostQueue
  let limits: TransferLimits
  let trust: PartitionTrust
  private let clock: LoopClock
  let deliveries: Deliveries
  var headerList = HeaderList()

  // Unchecked because the loop's thread alone touches it, and nothing called while a line is read comes back here.
  @exclusivity(unchecked) private(set) var machine: ResponseHeadMachine
  private(set) var response: HTTPResponse?
  /// The response's; the machine is too large to be asked for each piece of the body.
  private var framing = ResponseFraming()
  // Likewise, because appending calls nothing of ours.
  @exclusivity(unchecked) private(set) var collected = Data()
  private(set) var sink = Sink.undecided
  /// Decoded bytes handed on.
  private(set) var delivered: Int64 = 0
  private(set) var wasCut = false
  /// Why we made libcurl stop; it knows better than libcurl's own code.
  private(set) var failure: TransportError? { didSet { hasFailed = true } }
  private var hasFailed = false
  /// Whether request bytes may have left.
  private(set) var requestSent = false
  private(set) var resends = 0
  /// Why the job must begin anew, where nothing was sent.
  private(set) var restart: Restart?

  /// The descriptor libcurl last asked to watch for this transfer: that of its connection.
  var socket: Int32?
  private(set) var remoteAddress: String?
  private(set) var remotePort: Int?
  private(set) var localPort: Int?
  private(set) var receivingPaused = false
  private(set) var sendingPaused = false
  private var requestSizeAtStart: Int64 = 0
  private(set) var uploadOffset = 0
  /// Set where somebody wants to know.
  var progress: ProgressMeter?
  private var tls: OpaquePointer?
  /// The latest TLS connection that was begun for it: to the proxy, or to the server.
  var peer: TLSPeer?
  /// What the server was accepted as.
  private var verdict: TrustVerdict?

  let startedAt: Int64
  private let connectLimit: Int64
  var lastActivity: Int64

  init(
    job: TransferJob, easy: EasyHandle, host: HostQueue, limits: TransferLimits, trust: PartitionTrust,
    clock: LoopClock, deliveries: Deliveries
  ) {
    self.clock = clock
    self.deliveries = deliveries
    self.job = job
    self.trust = trust
    self.easy = easy
    self.host = host
    self.limits = limits
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
  private var waitsForUs: Bool { receivingPaused || (sendingPaused && response == nil) }

  // MARK: Callbacks

  /// About to send the request (`CURLOPT_PREREQFUNCTION`): once, and again when libcurl wants to resend it.
  func willSend(remote: UnsafePointer<CChar>?, remotePort: Int32, localPort: Int32) -> Int32 {
    lastActivity = clock.now
    host.learnReachable()
    if remoteAddress == nil, !speaksHTTP2InTheClear, let socket = host.socket(localPort: localPort),
      clastro_has_unsolicited_input(easy.raw, socket)
    {
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
    switch checkTrust(of: tls) {
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
    lastActivity = clock.now
    if hasFailed { return false }
    do {
      if case .final(let head) = try machine.consume(line: line, resembling: host.heads.latest) { return receive(head) }
      return true
    } catch {
      return fail(error.transportError)
    }
  }

  /// A piece of the decoded body. Gives the count to answer libcurl with.
  func receive(body bytes: UnsafeRawBufferPointer) -> Int {
    lastActivity = clock.now
    if hasFailed || wasCut { return 0 }
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
    }
  }

  /// Fills libcurl's upload buffer. Gives the count, or one of its special values.
  func supply(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    lastActivity = clock.now
    defer { noteSending() }
    guard let upload = job.upload else { return supplyFromMemory(buffer) }
    switch upload.read(into: buffer) {
    case .bytes(let count):
      uploadOffset += count
      return checkUploadExcess() ? count : Int(CURL_READFUNC_ABORT)
    case .end: return checkUploadLength()
    case .wait:
      sendingPaused = true
      return Int(CURL_READFUNC_PAUSE)
    case .failed(let error):
      failure = error
      return Int(CURL_READFUNC_ABORT)
    }
  }

  /// libcurl wants the upload from the start again, for a resend.
  func rewind(to offset: Int64) -> Int32 {
    guard job.upload == nil, offset >= 0, let length = job.request.body.length, offset <= length else {
      return Int32(CURL_SEEKFUNC_FAIL)
    }
    uploadOffset = Int(offset)
    return Int32(CURL_SEEKFUNC_OK)
  }

  // MARK: Resuming

  func resumeReceiving() -> CURLcode {
    guard receivingPaused else { return CURLE_OK }
    receivingPaused = false
    lastActivity = clock.now
    return curl_easy_pause(easy.raw, sendingPaused ? CURLPAUSE_SEND : CURLPAUSE_CONT)
  }

  func resumeSending() -> CURLcode {
    guard sendingPaused else { return CURLE_OK }
    sendingPaused = false
    lastActivity = clock.now
    return curl_easy_pause(easy.raw, receivingPaused ? CURLPAUSE_RECV : CURLPAUSE_CONT)
  }

  // MARK: The end

  /// Whether a body that the end of the connection ends (RFC 9112 §6.3) came to a proper end. libcurl 7.88 reports a
  /// bare TCP FIN under TLS as a clean one.
  var isTruncatedByTLS: Bool {
    guard let tls, machine.isCloseDelimited(method: job.request.head.method.rawValue) else { return false }
    return !clastro_connection_closed_cleanly(tls)
  }

  /// Who ended the connection with an alert before there was an answer.
  var alertingPeer: TLSPeer? {
    guard response == nil else { return nil }
    let used = tls.map { Unmanaged<TLSPeer>.fromOpaque(clastro_connection_owner($0)).takeUnretainedValue() }
    return (used ?? peer).flatMap { $0.alert == nil ? nil : $0 }
  }

  func facts() -> TransferFacts {
    TransferFacts(
      easy.facts, remoteAddress: remoteAddress, remotePort: remotePort, localPort: localPort, resends: resends,
      trust: verdict, queued: startedAt - job.enqueuedAt,
      elapsed: clock.now - startedAt)
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
    guard head.version.major == 1 || mayBeHTTP2 else {
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
      return false
    }
    // libcurl does not end an answered transfer while its upload is paused.
    if sendingPaused { _ = job.loop.post(.resumeSending(job)) }
    if head.version.major == 2 { host.learnHTTP2() } else { host.learnHTTP1() }
    let isSuccess = (200..<300).contains(head.status)
    switch job.request.delivery {
    case .collected(let limit): sink = .collect(limit: limit, cuts: !isSuccess)
    case .streamed(let limit): sink = .stream(limit: limit)
    case .streamedOnSuccess(let limit, let errorBytes):
      sink = isSuccess ? .stream(limit: limit) : .collect(limit: errorBytes, cuts: true)
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
        collected.append(contentsOf: bytes.prefix(max(0, room)))
        wasCut = true
      } else {
        failure = .bodyTooLarge(limit)
      }
      return 0
    }
    if collected.isEmpty, let length = framing.contentLength, length > Int64(bytes.count), !framing.hasContentEncoding {
      // The server's word is worth a megabyte.
      collected.reserveCapacity(min(limit, Int(clamping: length), 1 << 20))
    }
    collected.append(contentsOf: bytes)
    delivered += Int64(bytes.count)
    return bytes.count
  }

  private func stream(_ bytes: UnsafeRawBufferPointer, limit: Int?) -> Int {
    if let limit, Int64(bytes.count) > Int64(limit) - delivered {
      failure = .bodyTooLarge(limit)
      return 0
    }
    if isBomb(adding: bytes.count) {
      failure = .decompressionBomb(ratio: limits.decompressionRatio, delivered: delivered)
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

  /// Only streams need it: what is collected has its limit anyway.
  private func isBomb(adding count: Int) -> Bool {
    let decoded = delivered + Int64(count)
    guard framing.hasContentEncoding, decoded > limits.decompressionFloor else { return false }
    let received = max(1, easy.facts.download_size)
    return decoded / received > Int64(limits.decompressionRatio)
  }

  private func supplyFromMemory(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard case .bytes(let data) = job.request.body.source else { return 0 }
    let count = min(buffer.count, data.count - uploadOffset)
    guard count > 0 else { return 0 }
    let start = data.startIndex + uploadOffset
    data.copyBytes(to: buffer, from: start..<start + count)
    uploadOffset += count
    return count
  }

  /// libcurl does not stop at the announced length: what is more would be read as the next request.
  private func checkUploadExcess() -> Bool {
    guard let length = job.request.body.length, Int64(uploadOffset) > length else { return true }
    failure = .refused(
      .invalidBody, "the body is longer than the \(length) bytes announced",
      hint: "announce the true length, or none; a file must not change while it is sent")
    failure?.requestSent = true
    return false
  }

  /// A source that ends early would leave the server waiting for the announced rest.
  private func checkUploadLength() -> Int {
    guard let length = job.request.body.length, Int64(uploadOffset) < length else { return 0 }
    failure = .refused(
      .invalidBody, "the body ended after \(uploadOffset) of the \(length) bytes announced",
      hint: "announce the true length, or none")
    failure?.requestSent = true
    return Int(CURL_READFUNC_ABORT)
  }
}
