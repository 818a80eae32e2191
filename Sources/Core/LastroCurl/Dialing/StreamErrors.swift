// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Glibc
internal import Lastro
internal import LastroHTTP

extension TransportError {
  static let writingFinished = TransportError(
    stage: .request, code: .streamClosed, message: "this side has ended its direction of the stream",
    hint: "write before finishWriting")

  static func dialTimeout(_ dial: StreamDial) -> TransportError {
    .dialTimedOut(to: dial.name, within: dial.request.connectTimeout)
  }

  static func missingName(_ name: String) -> TransportError {
    TransportError(
      stage: .resolve, code: .hostNotFound, message: "the name \(name) has no address",
      hint: "check the name, and what ConnectionOptions.resolver returns for it")
  }

  static func foreignNameError(_ error: any Error) -> TransportError {
    TransportError(
      stage: .resolve, code: .hostNotFound, message: "the resolver failed: \(error)",
      hint: "let it throw a TransportError")
  }

  /// Returns the same error for several addresses.
  func ofAddresses(_ account: String, of name: String) -> TransportError {
    var error = self
    error.message = "\(name) was reached at none of its addresses: \(account)"
    return error
  }

  /// The same error, for a limit that expired before there was an address.
  var stillResolving: TransportError {
    TransportError(
      stage: stage, code: code, message: message + ", while the resolver looked the name up", hint: hint)
  }

  static func refusedStream(_ code: CURLMcode) -> TransportError {
    TransportError(
      stage: .request, code: .engineFailure,
      message: "libcurl refused the stream: \(String(cString: curl_multi_strerror(code))) (\(code.rawValue))",
      hint: "report it, with what `lastro doctor` prints")
  }

  static func refusedHost(_ name: String) -> TransportError {
    .refused(.invalidOption, "libcurl does not accept the host \(name)", hint: "give a name or an address")
  }

  static let endlessTunnelAnswer = TransportError(
    stage: .proxy, code: .proxyRefused,
    message: "the proxy's response to CONNECT has more than \(StreamSession.mostTunnelBytes) bytes",
    hint: "check that the proxy's URL leads to a proxy")

  static let noMemoryForStream = TransportError(
    stage: .request, code: .engineFailure, message: "out of memory for a stream", hint: memoryHint)

  static let goneAtOnce = system(
    .connect, .connectFailed, "the connection was lost as soon as it was established", 0, hint: "dial again")

  /// - Parameter server: the host and port.
  static func receivingFailed(_ server: String, _ systemCode: Int32, _ code: CURLcode? = nil) -> TransportError {
    .system(.response, .receiveFailed, "receiving from \(server) failed", systemCode, code)
  }

  /// - Parameter server: the host and port.
  static func sendingFailed(_ server: String, _ systemCode: Int32, _ code: CURLcode? = nil) -> TransportError {
    .system(.send, .sendFailed, "sending to \(server) failed", systemCode, code)
  }

  /// - Parameter systemCode: the `errno`; `nil` if the connection had failed before.
  static func unfinishedTLS(_ systemCode: Int32?) -> TransportError {
    .system(
      .send, .sendFailed, systemCode == nil ? "cannot end TLS: the connection has failed" : "cannot end TLS",
      systemCode ?? 0)
  }

  static func lookupsFull(_ limit: Int) -> TransportError {
    TransportError(
      stage: .limit, code: .queueFull, message: "\(limit) streams already wait for the addresses of their hosts",
      hint: "dial fewer at once, or by address")
  }

  static let noLookupThread = TransportError(
    stage: .resolve, code: .engineFailure, message: "the system cannot start a thread to resolve the name",
    hint: "raise `ulimit -u`, or the memory of the process")

  static func noAddress(of host: String, _ code: Int32) -> TransportError {
    var error = CurlCode.unresolved(host, String(cString: gai_strerror(code)))
    error.engineCode = code
    return error
  }

  static let interfaceWithNUL = refused(
    .invalidOption, "the local interface has a NUL in its name", hint: "remove it")

  private static let interfaceHint =
    "for datagrams set localInterface to the name of an interface or a local address, not to a host name"

  static func unsupportedInterface(_ name: String) -> TransportError {
    .refused(.unsupported, "the local interface \(name) cannot be used for datagrams", hint: interfaceHint)
  }

  static func missingInterface(_ name: String, _ code: Int32) -> TransportError {
    system(.connect, .connectFailed, "the local interface \(name) does not exist", code, hint: interfaceHint)
  }

  static func noDatagramSocket(_ code: Int32) -> TransportError {
    .system(
      .connect, .connectFailed, "the system cannot open a socket for datagrams", code,
      hint: "close some sockets, or raise `ulimit -n`")
  }

  static func system(
    _ stage: FailureStage, _ code: FailureCode, _ what: String, _ systemCode: Int32,
    _ engineCode: CURLcode? = nil,
    hint: String = "dial again: the server or the network cut the connection"
  ) -> TransportError {
    let reason = systemCode == 0 ? "" : ": \(SystemError.text(systemCode))"
    var error = TransportError(
      stage: stage, code: code, message: what + reason, hint: hint,
      engineCode: engineCode.map { Int32(bitPattern: $0.rawValue) }, requestSent: stage == .send || stage == .response)
    error.systemCode = systemCode == 0 ? nil : systemCode
    return error
  }

  /// Creates the error for libcurl's result of a dial.
  init(_ code: CURLcode, dialing session: StreamSession) {
    let facts = session.easy.facts
    let known =
      session.failure ?? session.peer?.refusal(code)
      ?? session.egress?.failure(hasConnected: facts.connect > 0, target: session.dial.server)
    if let known {
      self = known
      return
    }
    self = CurlCode.explain(code, of: session.ends, facts: facts)
    engineCode = Int32(bitPattern: code.rawValue)
    if facts.os_errno != 0, Self.tells(code, Int32(clamping: facts.os_errno)) {
      systemCode = Int32(clamping: facts.os_errno)
    }
  }

  static let noHandle = TransportError(
    stage: .request, code: .engineFailure, message: "libcurl cannot make a handle: out of memory", hint: memoryHint)

  /// Returns whether the handle's latest system error belongs to this failure. It is not cleared on success, so it may
  /// be that of an address that was tried before.
  private static func tells(_ code: CURLcode, _ systemCode: Int32) -> Bool {
    switch code {
    case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: true
    case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SSL_CONNECT_ERROR:
      [ECONNRESET, EPIPE, ETIMEDOUT].contains(systemCode)
    default: false
    }
  }
}

extension StreamSession {
  /// The ends of the connection, for error texts.
  fileprivate var ends: CurlCode.Ends {
    let tls = profile.options.tls
    return CurlCode.Ends(
      server: dial.name, host: dial.host.text, proxy: ForwardProxy.name(of: proxy),
      socket: profile.options.unixSocketPath, connectTimeout: dial.request.connectTimeout,
      hasClientCertificate: isTLS && (tls.identity != nil || !tls.hostIdentities.isEmpty))
  }
}
