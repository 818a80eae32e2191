// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import HTTPTypes
internal import Lastro
internal import LastroExchange
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The object libcurl's callbacks of one transfer land on.
///
/// Owner: ``Partition/transfers``, from `curl_multi_add_handle` until the transfer is finished. Thread: the loop's, for
/// its whole life; it is not `Sendable`, so the compiler keeps it there. libcurl finds it through its ``EasyHandle``,
/// and calls back only between those two points.
final class Transfer: ResponseReceiver {
  let easy: EasyHandle
  let host: HostQueue
  let trust: PartitionTrust
  var headerList = HeaderList()
  /// Stands before its sockets, where there are rules about addresses and no proxy.
  var egress: EgressGate?

  // Unchecked because the loop's thread alone touches it, and nothing called while a line is read comes back here.
  @exclusivity(unchecked) private(set) var machine: ResponseHeadMachine
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
  var sendingPaused = false
  private var requestSizeAtStart: Int64 = 0
  var tunnelSteps = 0
  private(set) var tls: OpaquePointer?
  /// The latest TLS connection that was begun for it: to the proxy, or to the server.
  var peer: TLSPeer?
  /// What the server was accepted as.
  private var verdict: TrustVerdict?

  private let connectLimit: Int64

  init(
    _ job: TransferJob, in context: CarrierContext, easy: EasyHandle, host: HostQueue, trust: PartitionTrust
  ) {
    self.trust = trust
    self.easy = easy
    self.host = host
    resends = job.resends
    // A little later than libcurl's, whose error knows more.
    connectLimit = job.request.connectTimeout.map { context.clock.now.adding($0 + .milliseconds(50)) } ?? .max
    let limits = context.settings.transfer
    machine = ResponseHeadMachine(
      maximumHeadBytes: limits.headBytes, maximumFields: limits.headFields,
      maximumInterimResponses: limits.interimResponses)
    super.init(job, in: context)
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
      // A source that was partly read cannot be sent again from its start. libcurl would send up to five times more.
      guard job.request.allowsResend, resends == 0, job.upload == nil || uploadOffset == 0 else {
        failure = .closedAfterSending
        return Int32(CURL_PREREQFUNC_ABORT)
      }
      resends += 1
    }
    if let tls { clastro_connection_release(tls) }
    tls = host.key.isTLS ? clastro_connection_retain(easy.raw) : nil
    let isJoined = join(tls, localPort: localPort)
    switch isJoined ? checkTrust(of: tls, to: remote, port: remotePort) : .restart(.onFreshConnection) {
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
      switch try machine.consume(line: line, resembling: host.heads.latest) {
      case .final(let head): return receive(head)
      case .interim(let head):
        // libcurl would take its length for that of the final response.
        if ResponseFraming.hasField(in: head) { return fail(.framedInterimResponse) }
        job.request.interimTelling(head)?()
      default: break
      }
      return true
    } catch {
      return fail(error.transportError)
    }
  }

  /// A piece of the body as it came. Gives the count to answer libcurl with.
  func receive(body bytes: UnsafeRawBufferPointer) -> Int {
    noteHearing()
    do {
      let verdict = try take(body: bytes)
      // libcurl drops them and would keep the connection, on which more of them may come.
      if decoder?.hasExcess == true { easy.set(CURLOPT_FORBID_REUSE, 1) }
      return switch verdict {
      case .taken: bytes.count
      case .full: Int(CURL_WRITEFUNC_PAUSE)
      case .refused: 0
      }
    } catch {
      failure = error
      return 0
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

  /// From version 8.0 on, libcurl counts the frames of chunks too.
  override var wireBytes: Int64 {
    if !framing.isChunked { return easy.facts.download_size }
    return coded > 0 ? coded : delivered
  }

  override func noteDrain() { host.noteDrain(self) }

  override func facts() -> TransferFacts {
    var facts = TransferFacts(
      easy.facts, remoteAddress: remoteAddress, remotePort: remotePort, localPort: localPort, resends: resends,
      trust: verdict, queued: startedAt - job.enqueuedAt,
      elapsed: clock.now - startedAt)
    if framing.isChunked { facts.bytesReceived = wireBytes }
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
      failure = HeadViolation.wrongVersion(head.version.major).transportError
      return false
    }
    if head.status == 407, host.isProxied, !host.key.isTLS {
      failure = .proxyWantsCredentials
      return false
    }
    note(response, machine.framing)
    // libcurl would send the request again by itself, without its Expect: end here, with the status.
    if head.status == 417, !job.request.body.isEmpty {
      cutAtHead()
      return false
    }
    // libcurl does not end an answered transfer while its upload is paused.
    if sendingPaused { _ = job.loop.post(.resumeSending(job)) }
    if head.version.major == 2 { noteAnswerOverHTTP2() } else { host.learnHTTP1() }
    do {
      return try take(response, of: head, framing)
    } catch {
      return fail(error)
    }
  }
}
