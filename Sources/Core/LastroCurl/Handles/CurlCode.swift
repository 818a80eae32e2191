// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP

/// The errors for libcurl's results of a dial.
enum CurlCode {
  /// The ends of a connection, for error texts.
  struct Ends {
    /// The server, such as `a.example:443`.
    var server: String
    var host: String
    /// The host and port of the proxy; empty if there is none.
    var proxy = ""
    /// The path of the Unix socket that replaces the host.
    var socket: String?
    var connectTimeout: Duration?
    /// Whether libcurl has a client certificate for the server.
    var hasClientCertificate = false

    var isProxied: Bool { !proxy.isEmpty }
  }

  /// Returns the error for a result, without the result itself. Versions return different results for the same cause;
  /// 7.88's are the ones without a version here.
  static func explain(_ code: CURLcode, of ends: Ends, facts: clastro_facts) -> TransportError {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST:
      return unresolved(ends.host, "no address was found")
    case CURLE_COULDNT_RESOLVE_PROXY:
      return .init(.proxy, .proxyNotFound, "cannot resolve the proxy \(ends.proxy)", "check the proxy's URL")
    case CURLE_COULDNT_CONNECT where ends.isProxied && facts.connect_code >= 300:  // 8.23: CONNECT was refused
      return refusedTunnel(Int(facts.connect_code), ends)
    case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: return unconnected(code, ends, facts)
    case CURLE_PROXY:
      return .init(
        .proxy, .proxyRefused,
        "the proxy \(ends.proxy) refused to connect to \(ends.server) (libcurl's proxy error \(facts.proxy_error))",
        "check user and password, and the proxy's rules")
    case CURLE_OPERATION_TIMEDOUT:
      return .dialTimedOut(to: ends.server, within: ends.connectTimeout)
    case CURLcode(rawValue: 100) where ends.isProxied:  // CURLE_TOO_LARGE, since 8.6
      return .init(
        .proxy, .proxyRefused, "the head of the proxy's response to CONNECT exceeds libcurl's limit of 300 KiB",
        "check that the proxy's URL leads to a proxy")
    default: break
    }
    if ends.isProxied, facts.connect_code != 0, facts.connect_code / 100 != 2 {
      return refusedTunnel(Int(facts.connect_code), ends)
    }
    return tls(code, facts: facts, ends) ?? connection(code, ends)
  }

  private static func unconnected(_ code: CURLcode, _ ends: Ends, _ facts: clastro_facts) -> TransportError {
    switch code {
    case CURLE_COULDNT_CONNECT where ends.isProxied:
      return .init(
        .proxy, .proxyConnectFailed, "cannot connect to the proxy \(ends.proxy)\(reason(facts))",
        "check its host and port, and that it runs")
    case CURLE_COULDNT_CONNECT:
      return .init(
        .connect, .connectFailed,
        "cannot connect to \(ends.server)\(ends.socket.map { " at the socket \($0)" } ?? "")\(reason(facts))",
        ends.socket == nil
          ? "check host and port, and that the server runs" : "check the socket's path, and who listens")
    default:
      return .init(
        .connect, .connectFailed, "cannot connect to \(ends.server) from the local interface\(reason(facts))",
        "check ConnectionOptions.localInterface")
    }
  }

  /// Returns the error for a name without an address.
  static func unresolved(_ host: String, _ reason: String) -> TransportError {
    .init(.resolve, .hostNotFound, "cannot resolve \(host): \(reason)", "check the name, and DNS on this machine")
  }

  /// Returns the error for a proxy's response to CONNECT.
  private static func refusedTunnel(_ status: Int, _ ends: Ends) -> TransportError {
    let hint =
      switch status {
      case 407: "give user and password in the proxy's URL"
      case 403: "ask for the host and port in the proxy's rules"
      case 502, 503, 504: "check the host, and the proxy's network"
      default: "ask the proxy's owner"
      }
    return .init(.proxy, .proxyRefused, "the proxy \(ends.proxy) answered CONNECT \(ends.server) with \(status)", hint)
  }

  private static func tls(_ code: CURLcode, facts: clastro_facts, _ ends: Ends) -> TransportError? {
    switch code {
    case CURLE_PEER_FAILED_VERIFICATION:
      return VerifyFailure(result: Int32(clamping: facts.verify_result)).failure(of: ends.server, isProxy: false)
    case CURLE_SSL_INVALIDCERTSTATUS:
      return .init(
        .tls, .certificateStatusInvalid, "\(ends.server) stapled no good OCSP response for its certificate",
        "it may be revoked, or the server does not staple; requiresStapledStatus asks for it")
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER:
      return .init(
        .tls, .handshakeFailed, "the TLS handshake with \(ends.server) failed",
        "the server may not use TLS on this port, or may support none of our versions and ciphers")
    case CURLE_SSL_CERTPROBLEM: return .unusableIdentity
    case CURLE_BAD_FUNCTION_ARGUMENT where ends.hasClientCertificate: return .unusableIdentity  // 8.23: its key
    case CURLE_SSL_CLIENTCERT:
      return .init(.tls, .handshakeFailed, "the TLS handshake with \(ends.server) failed: \(text(code))", unknown)
    default: return nil
    }
  }

  private static func connection(_ code: CURLcode, _ ends: Ends) -> TransportError {
    switch code {
    case CURLE_GOT_NOTHING:
      return .init(.response, .connectionLost, "\(ends.server) closed the connection without a response", cut)
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
      return .init(.response, .malformedResponse, "the response of \(ends.server) breaks the rules of HTTP", unruly)
    case CURLE_SEND_ERROR:
      return .init(.send, .sendFailed, "the request to \(ends.server) could not be sent in full", cut)
    case CURLE_RECV_ERROR where ends.isProxied:
      return .init(
        .proxy, .proxyRefused, "the proxy \(ends.proxy) closed the connection instead of opening a tunnel",
        "check that it is a proxy of this kind")
    case CURLE_RECV_ERROR:
      return .init(.response, .connectionLost, "the connection to \(ends.server) was reset before a response came", cut)
    case CURLE_URL_MALFORMAT:
      return .init(.request, .invalidURL, "libcurl cannot parse the URL", unknown)
    case CURLE_BAD_FUNCTION_ARGUMENT, CURLE_NOT_BUILT_IN, CURLE_UNKNOWN_OPTION, CURLE_SETOPT_OPTION_SYNTAX:
      return .init(.request, .invalidOption, "libcurl does not accept an option: \(text(code))", unknown)
    default:
      return .init(.connect, .engineFailure, text(code), unknown)
    }
  }

  private static let cut = TransportError.cutHint
  private static let unruly = "the server does not follow HTTP: report it to its owner"
  private static let unknown = "report it, with what `lastro doctor` prints"

  private static func reason(_ facts: clastro_facts) -> String {
    facts.os_errno == 0 ? "" : ": \(SystemError.text(Int32(facts.os_errno)))"
  }

  static func text(_ code: CURLcode) -> String { String(cString: curl_easy_strerror(code)) }
}

extension TransportError {
  init(_ stage: FailureStage, _ code: FailureCode, _ message: String, _ hint: String) {
    self.init(stage: stage, code: code, message: message, hint: hint)
  }
}
